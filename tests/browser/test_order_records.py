"""Beside an order: a comment that the other side reads at once, a file that is opened, and who did what."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from orders.models import Order
from tests.browser import form
from tests.browser.served import NARROW, elsewhere
from tests.browser.test_every_page import serious

pytestmark = pytest.mark.browser


def test_a_comment_and_a_file_reach_the_other_side_and_the_audit_tab(person, tmp_path):
    order = elsewhere(lambda: str(Order.objects.earliest("placed_at").pk))
    writing, reading, auditing = person("analyst").page, person("requester").page, person("director").page
    reading.goto(f"/orders/{order}/")
    reading.wait_for_selector("#link-state[data-link=live]")
    writing.goto(f"/orders/{order}/")
    writing.fill("#id_text", "Second tube looks clotted.\nPlease send another.")
    writing.check("input[name=readers][value=both]")
    writing.get_by_role("button", name="Add the comment").press("Enter")
    expect(reading.locator("#comment-list")).to_contain_text("Please send another.")  # without a reload
    reading.fill("#id_text", "half a thou")
    scan = tmp_path / "requisition.pdf"
    scan.write_bytes(b"%PDF-1.7 a scan")
    writing.set_input_files("#id_attached", scan)
    writing.select_option("#id_kind", "requisition")
    writing.get_by_role("button", name="Attach", exact=True).click()
    expect(reading.locator("#paper-list")).to_contain_text("requisition.pdf")
    assert reading.input_value("#id_text") == "half a thou"  # what is being written stays
    with reading.expect_download() as taken:
        reading.get_by_role("link", name="requisition.pdf").click()
    assert Path(taken.value.path()).read_bytes() == scan.read_bytes() and taken.value.suggested_filename.endswith("-file-1.pdf")
    writing.get_by_role("link", name="Correct the comment").click()
    writing.fill("#id_text", "First tube looks clotted.")
    writing.get_by_role("button", name="Correct the comment").click()
    expect(reading.locator("#comment-list")).to_contain_text("Withdrawn")
    auditing.goto(f"/orders/{order}/")
    auditing.click("#audit-link")
    expect(auditing.locator(".trail")).to_contain_text("Comment corrected")
    expect(auditing.locator(".trail")).to_contain_text("Opened a file")
    for page in (reading, writing, auditing):
        assert serious(page) == []
        page.set_viewport_size(NARROW)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_what_changes_while_the_order_is_being_placed_brings_no_draft_back(person, checked):
    page = person("requester").page
    form.choose_test(page)
    form.check(page, form.first_records(20))
    form.fill(page)
    page.evaluate(
        "document.getElementById('order-form').addEventListener('submit', (event) => {"
        " event.target.dispatchEvent(new Event('change'));"
        " setTimeout(() => event.target.dispatchEvent(new Event('change')), 0); })"
    )
    page.route("**/orders/new/**", lambda route: (page.wait_for_timeout(600), route.continue_()))
    page.click("#place")
    page.wait_for_url("**/orders/*-*/")
    page.unroute("**/orders/new/**")
    page.goto("/orders/new/")
    assert page.input_value("#id_family_name") == ""


def test_a_duplicate_is_told_with_its_order_and_one_key_places_a_stat_one_nevertheless(person, checked):
    for time in range(2):
        page = person("requester").page  # a window of its own: it keeps nothing of the first order's draft
        form.choose_test(page)
        form.check(page, form.first_records(20))
        form.fill(page, stat=True)
        page.keyboard.press("Control+Enter")
        if time:
            expect(page.locator("#duplicates")).to_contain_text("The same patient and test within 14 days.")
            expect(page.locator("#nevertheless")).to_be_focused()
            assert serious(page) == []
            page.keyboard.press("Enter")
        page.wait_for_url("**/orders/*-*/")
    expect(page.locator("#alike")).to_contain_text("Looks like another order")
    assert elsewhere(lambda: Order.objects.filter(priority="stat").count()) == 2
