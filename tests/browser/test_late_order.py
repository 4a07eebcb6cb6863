"""A late order becomes visible, somebody is told inside and outside, and both are read and recorded by keyboard and click."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from foundation import clock
from orders import escalation
from orders.models import DelayNotice, Order
from tests.browser.served import NARROW, elsewhere
from tests.browser.test_every_page import serious
from tests.forging import forge

pytestmark = pytest.mark.browser


def late():
    """The demonstration's order, late by three minutes, of which nobody has been told."""
    order = Order.objects.get()
    now = clock.now()
    due = {"result_due": now - timedelta(minutes=3), "report_due": now + timedelta(hours=9)}
    forge(order, promised_at=now - timedelta(hours=2), escalate_at=now, **due)
    return str(order.pk)


def test_a_late_order_is_seen_told_of_and_recorded(person):
    analyst, director = person("analyst").page, person("director").page
    order = elsewhere(late)
    director.goto("/notifications/")
    director.wait_for_selector("#link-state[data-link=live]")
    assert elsewhere(escalation.sweep) == 1
    expect(director.locator(".notices")).to_contain_text("results are late")  # without a reload
    expect(director.locator("#bell")).to_contain_text("1")
    director.locator(".notices button").first.press("Enter")
    expect(director.locator(".notices .unread")).to_have_count(0)
    expect(director.locator("#bell")).to_contain_text("none unread")
    analyst.goto("/")
    expect(analyst.locator(".c-left").last).to_contain_text("nobody told yet")
    analyst.goto(f"/orders/{order}/")
    analyst.locator("#delay-link").click()
    analyst.fill("#id_told", "Dr Ordering, ward 3")
    analyst.select_option("#id_means", "phone")
    analyst.get_by_role("button", name="Record it").press("Enter")
    expect(analyst.locator("#delay")).to_contain_text("Delay told: Dr Ordering, ward 3")
    expect(analyst.locator("#timeline")).to_contain_text("Told of the delay")
    assert elsewhere(lambda: DelayNotice.objects.get().by.name) == "Anna Analyst"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_lies_to_the_side(person, scheme):
    order = elsewhere(late)
    elsewhere(escalation.sweep)
    pages = {"director": ["/notifications/", "/clocks/", "/clocks/calendar", "/turnaround/", f"/orders/{order}/delay"],
             "administrator": ["/webhooks/"]}  # fmt: skip
    for mailbox, addresses in pages.items():
        page = person(mailbox, color_scheme=scheme).page
        for address in addresses:
            page.goto(address)
            assert serious(page) == [], address
            page.set_viewport_size(NARROW)
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], address
