"""The worklist by keyboard: take an order, filter, keep the filter, hold several with one refusal, see a late one."""

import os

import pytest
from playwright.sync_api import expect

from foundation import clock
from orders.models import Order
from tests.browser.served import NARROW, elsewhere
from tests.browser.test_every_page import serious
from tests.factories import make_order as placed
from tests.factories import make_ready_intake, make_test_version
from tests.forging import forge

pytestmark = pytest.mark.browser
PICTURES = os.environ.get("SCREENSHOTS", "")  # a folder, for docs/screenshots


def some_orders() -> list[str]:
    """Two routine orders, of which one is late, and a STAT order that another person placed."""
    laboratory = Order.objects.earliest("placed_at").performing_laboratory
    test = make_test_version(laboratory=laboratory)
    made = [
        placed(intake=make_ready_intake(test_version=test, organisation=laboratory), priority=priority)
        for priority in ("routine", "asap", "stat")
    ]
    forge(made[1], result_due=clock.now())
    return [str(order.pk) for order in made]


def look(page, name: str) -> None:
    assert serious(page) == []
    wide = page.viewport_size
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}-1280.png")
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}-390.png")
    page.set_viewport_size(wide)


def test_a_working_day_by_keyboard(person):
    plain, late, stat = elsewhere(some_orders)
    page = person("analyst").page
    page.goto("/?chip=open")
    expect(page.locator("#chip-late")).to_contain_text("1")
    expect(page.locator(f'[data-order="{late}"] .late').first).to_contain_text("over")
    page.locator(f"#row-{plain}").focus()
    page.keyboard.press("t")
    expect(page.locator("p.good")).to_contain_text("is yours")
    page.locator("#narrow summary").press("Enter")
    page.select_option("#f_assignee", "me")
    page.get_by_role("button", name="Show these orders").press("Enter")
    expect(page.locator("#without-assignee")).to_contain_text("me")
    page.locator("#saved summary").press("Enter")
    page.fill("#f_name", "My work")
    page.get_by_role("button", name="Keep").press("Enter")
    expect(page.locator("p.good")).to_contain_text("My work")
    look(page, "worklist-filtered")
    page.locator("#clear-all").press("Enter")
    for order in (stat, late):
        page.locator(f"#row-{order}").focus()
        page.keyboard.press("x")
    expect(page.locator("#act-count")).to_contain_text("2 chosen")
    look(page, "worklist")
    page.get_by_role("button", name="Hold…").press("Enter")
    page.select_option("#id_hold", "hold.specimen")
    page.locator("#act-sure").press("Enter")
    expect(page.locator("h1")).to_contain_text("1 done, 1 not")
    expect(page.locator("#refused")).to_contain_text("two people")
    look(page, "worklist-outcome")
