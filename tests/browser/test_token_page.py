"""A token made by keyboard alone, shown once, and ended."""

import pytest
from playwright.sync_api import expect

from tests.browser.test_every_page import serious

pytestmark = pytest.mark.browser


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_a_token_is_made_and_ended_by_keyboard(person):
    page = person("analyst").page
    page.get_by_role("link", name="API tokens").focus()
    press(page, "Enter")
    page.wait_for_url("**/account/tokens/")
    assert serious(page) == []
    page.focus("#id_name")
    page.keyboard.type("LIS of the intensive care unit")
    page.focus("#id_scopes_0")
    press(page, "Space", "Tab", "Space", "Tab", "Space", "Enter")
    text = page.locator("#token-text")
    expect(text).to_be_focused()
    assert text.input_value().startswith("hct_") and serious(page) == []
    page.get_by_role("link", name="API tokens").press("Enter")
    expect(page.locator("#token-text")).to_have_count(0)
    page.locator("summary", has_text="Revoke").press("Enter")
    page.get_by_role("button", name="Revoke it").press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("opens nothing any more")
    expect(page.locator("table.tokens")).to_contain_text("revoked")
    page.goto("/api/")
    assert serious(page) == []
