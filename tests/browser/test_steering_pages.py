"""Priority and hold as several people see them at once: open pages follow without a reload, and one click is one request."""

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.services import actor_for
from orders.models import HoldRequest, Order
from tests.browser.served import NARROW, elsewhere
from tests.browser.test_every_page import serious
from tests.factories import make_order as placed
from tests.factories import make_ready_intake, make_test_version

pytestmark = pytest.mark.browser
PAPER = {"width": 688, "height": 1000}  # A4 without its margins, in pixels of CSS


def stat_order():
    """A STAT order of the demonstration hospital, which somebody of the laboratory placed."""
    first = Order.objects.earliest("placed_at")
    test = make_test_version(laboratory=first.performing_laboratory)
    intake = make_ready_intake(test_version=test, organisation=first.performing_laboratory)
    return str(placed(intake=intake, priority="stat").pk)


def test_two_people_hold_a_stat_order_and_every_open_page_follows(person):
    order = elsewhere(stat_order)
    first, second, watching = person("analyst").page, person("director").page, person("reviewer").page
    second.goto("/")
    watching.goto(f"/orders/{order}/")
    for page in (second, watching):
        page.wait_for_selector("#link-state[data-link=live]")
    first.goto(f"/orders/{order}/urgency")
    first.select_option("#id_hold", "hold.specimen")
    first.fill("#id_words", "two tubes")
    first.get_by_role("button", name="Ask a second person").press("Enter")
    expect(watching.locator("#hold-asked")).to_contain_text("two tubes")
    expect(watching.locator("#answer-link")).to_be_visible()
    second.locator("a[id^=answer-]").click()
    assert serious(second) == []
    second.fill("#id_words", "seen")
    second.get_by_role("button", name="Agree").click()
    expect(second.locator("#progress-title ~ .figure")).to_contain_text("On hold")
    expect(watching.locator("#progress-title ~ .figure")).to_contain_text("On hold")
    expect(watching.locator("#timeline")).to_contain_text("as asked by Anna Analyst")
    expect(watching.locator("#answer-link")).to_have_count(0)
    second.goto("/")
    assert second.locator("a[id^=answer-]").count() == 0


def test_a_changed_priority_is_told_in_the_head_of_an_open_page(person):
    order = elsewhere(stat_order)
    watching, deciding = person("analyst").page, person("director").page
    watching.goto(f"/orders/{order}/")
    watching.wait_for_selector("#link-state[data-link=live]")
    deciding.goto(f"/orders/{order}/urgency")
    deciding.check("input[value=asap]")
    deciding.fill("#id_reason", "no fever any more")
    deciding.get_by_role("button", name="Change the priority").click()
    expect(watching.locator("#order-priority")).to_contain_text("ASAP")
    expect(watching.locator("#timeline")).to_contain_text("no fever any more")


def of_the_requester():
    """A STAT order that the requester of the demonstration placed."""
    first, requester = Order.objects.earliest("placed_at"), User.objects.get(email__startswith="requester@")
    test = make_test_version(laboratory=first.performing_laboratory)
    intake = make_ready_intake(test_version=test, organisation=requester.memberships.get().organisation)
    return str(placed(intake=intake, actor=actor_for(requester), priority="stat").pk)


def follow(page, address):
    page.goto(address)
    page.wait_for_selector("#link-state[data-link=live]")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_requester_reads_without_a_reload_that_his_order_is_less_urgent_and_is_told_no_more_when_he_says_so(person, scheme):
    order = elsewhere(of_the_requester)
    pages = person("requester", color_scheme=scheme), person("requester", color_scheme=scheme), person("analyst")
    listed, shown, deciding = (one.page for one in pages)
    follow(listed, "/?chip=mine")
    follow(shown, f"/orders/{order}/")
    deciding.goto(f"/orders/{order}/urgency")
    deciding.check("input[value=urgent]")
    deciding.fill("#id_reason", "no fever any more")
    deciding.get_by_role("button", name="Change the priority").click()
    for page in (listed, shown):
        expect(page.locator(".news")).to_contain_text("no longer ⚡ STAT · Anna Analyst")
        assert serious(page) == []
        page.set_viewport_size(NARROW)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    sent = []
    listed.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    listed.locator(f"#read-{order}").dblclick()
    expect(listed.locator("p.good")).to_contain_text("You have read that order")
    assert len(sent) == 1 and listed.url.endswith("/?chip=mine")
    for page in (listed, shown):
        expect(page.locator(".news")).to_have_count(0)
    expect(shown.locator("#timeline")).to_contain_text("Read that it is less urgent")


def test_a_double_click_is_one_request(person):
    order = elsewhere(stat_order)
    page = person("director").page
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.goto(f"/orders/{order}/urgency")
    page.check("input[value=urgent]")
    page.fill("#id_reason", "no fever any more")
    page.get_by_role("button", name="Change the priority").dblclick()
    expect(page.locator("p.good")).to_contain_text("has another priority now")
    assert len(sent) == 1 and elsewhere(lambda: Order.objects.get(pk=order).edits) == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_where_priority_and_hold_are_changed_and_nothing_lies_to_the_side(person, scheme):
    order = elsewhere(stat_order)
    page = person("director", color_scheme=scheme).page
    for address in (f"/orders/{order}/urgency", f"/orders/{order}/cancel", "/engine/", "/?chip=hold"):
        page.goto(address)
        assert serious(page) == [], address
        page.set_viewport_size(NARROW)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], address
    page.goto(f"/orders/{order}/urgency")
    page.select_option("#id_hold", "hold.input")
    page.get_by_role("button", name="Ask a second person").click()
    page.wait_for_selector("#hold-asked")
    assert serious(page) == [] and elsewhere(HoldRequest.objects.count) == 1


def test_no_column_of_the_engine_page_is_cut_off_on_paper(person):
    page = person("operator").page
    page.goto("/engine/")
    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    fits = [table.evaluate("one => one.scrollWidth <= one.parentElement.clientWidth") for table in page.locator(".stack").all()]
    assert fits and all(fits)


def test_on_a_telephone_every_figure_of_the_engine_page_stands_below_the_other(person):
    page = person("operator").page
    page.set_viewport_size(NARROW)
    page.goto("/engine/")
    cells = [cell.bounding_box() for cell in page.locator(".stack td").all()]
    assert len(cells) > 5 and all(box["x"] >= 0 and box["x"] + box["width"] <= NARROW["width"] for box in cells)


def test_a_routine_order_is_held_goes_on_and_is_cancelled_by_keyboard_and_an_open_page_follows(person):
    order = elsewhere(lambda: str(placed(priority="routine", intake=_intake_of_the_house()).pk))
    page, watching = person("analyst").page, person("reviewer").page
    follow(watching, f"/orders/{order}/")
    progress = watching.locator("#progress-title ~ .figure")
    page.goto(f"/orders/{order}/")
    page.locator("#urgency-link").press("Enter")
    page.select_option("#id_hold", "hold.specimen")
    page.get_by_role("button", name="Put it on hold").press("Enter")
    expect(page.locator("p.good")).to_contain_text("is on hold")
    expect(progress).to_contain_text("On hold")
    page.locator("#urgency-link").press("Enter")
    page.get_by_role("button", name="Let it go on").press("Enter")
    expect(page.locator("p.good")).to_contain_text("goes on")
    expect(progress).to_contain_text("Queued")
    page.locator("#cancel-link").press("Enter")
    page.fill("#id_reason", "ordered twice")
    page.locator("main [type=checkbox]").press("Space")
    page.get_by_role("button", name="Cancel this order").press("Enter")
    expect(page.locator("p.good")).to_contain_text("is cancelled")
    expect(progress).to_contain_text("Cancelled")
    expect(watching.locator("#timeline")).to_contain_text("ordered twice")
    assert elsewhere(lambda: Order.objects.get(pk=order).state) == "cancelled"


def _intake_of_the_house():
    laboratory = Order.objects.earliest("placed_at").performing_laboratory
    return make_ready_intake(test_version=make_test_version(laboratory=laboratory), organisation=laboratory)
