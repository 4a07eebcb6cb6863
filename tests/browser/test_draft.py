"""What is typed into the order form is a draft on the server, and what the server does not have yet outlives what goes wrong."""

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from casefile.models import Draft
from orders.models import Order
from tests.browser import form
from tests.browser.served import elsewhere, until
from tests.browser.test_every_page import serious
from tests.factories import PASSWORD

pytestmark = pytest.mark.browser
KEPT = "sessionStorage.getItem('helicase.draft')"


@pytest.fixture
def page(person, checked):
    return person("requester").page


def end_session():
    elsewhere(lambda: Session.objects.all().delete())


def log_in_again(page, mailbox="requester"):
    page.fill("#id_username", f"{mailbox}@demo.helicase.example")
    page.fill("#id_password", PASSWORD)
    page.click("main button")


def saved(page):
    """Wait until the server has all that is typed."""
    expect(page.locator("#saved")).to_have_attribute("data-state", "saved")
    expect(page.locator("#saved")).to_contain_text("Draft saved")
    until(lambda: page.evaluate(KEPT) is None, page)


def typed(page):
    """A checked input and every field filled in, saved as a draft."""
    form.choose_test(page)
    form.check(page, form.first_records(20))
    form.fill(page, stat=True)
    saved(page)


def is_there(page):
    page.wait_for_selector("#verdict[data-state=ready]")
    for name, value in form.FIELDS.items():
        expect(page.locator(f"#id_{name}")).to_have_value(value)
    return page.is_checked("#id_priority_0") and page.is_visible("#id_stat_reason")


def test_a_draft_survives_a_logout_and_a_browser_that_is_gone_and_is_placed(page, person):
    typed(page)
    page.click("text=Log out")
    page.wait_for_url("**/login/**")
    assert page.evaluate(KEPT) is None  # nothing stays on the computer
    page.context.close()
    page = person("requester").page
    page.goto("/orders/new/")
    expect(page.locator("#drafts")).to_contain_text("Okafor, Ngozi")
    assert serious(page) == []
    page.get_by_role("link", name="Resume").click()
    assert is_there(page)
    page.click("#place")
    page.wait_for_url("**/orders/*-*/")
    order, draft = elsewhere(lambda: (Order.objects.latest("placed_at"), Draft.objects.select_related("order").get()))
    assert (order.stat_reason, draft.state, draft.order) == ("suspected sepsis", "placed", order)
    page.goto("/orders/new/")
    assert page.locator("#drafts").count() == 0 and page.input_value("#id_family_name") == ""


def test_an_order_sent_after_the_session_has_ended_comes_back_with_what_was_typed_since(page):
    typed(page)
    end_session()
    page.fill("#id_stat_reason", "septic shock")
    page.click("#place")
    page.wait_for_selector("#id_username")
    log_in_again(page)
    page.wait_for_selector("#order-form")
    assert is_there(page) and page.input_value("#id_stat_reason") == "septic shock"
    page.click("#place")
    page.wait_for_url("**/orders/*-*/")
    assert page.evaluate(KEPT) is None
    assert elsewhere(lambda: Order.objects.latest("placed_at").stat_reason) == "septic shock"


def test_a_save_that_meets_an_ended_session_says_so_at_once_beside_what_was_typed(page):
    typed(page)
    end_session()
    page.fill("#id_indication", "fever")
    expect(page.locator("#session-ended")).to_contain_text("Your session has ended.")
    expect(page.locator("#saved")).to_contain_text("Not saved: your session has ended")
    assert page.input_value("#id_family_name") == "Okafor"
    page.click("#session-ended a")
    log_in_again(page)
    page.wait_for_selector("#draft:not([hidden])")
    assert is_there(page) and page.input_value("#id_indication") == "fever"


def test_a_lost_connection_is_said_and_saved_when_it_is_back(page):
    typed(page)
    page.context.set_offline(True)
    page.fill("#id_indication", "fever")
    expect(page.locator("#saved")).to_contain_text("the server does not answer. Trying again")
    expect(page.locator("#announcements")).to_contain_text("the server does not answer")
    assert "fever" in page.evaluate(KEPT)
    page.context.set_offline(False)
    saved(page)
    assert elsewhere(lambda: Draft.objects.get().typed["indication"]) == "fever"


def test_two_windows_of_one_draft_do_not_overwrite_each_other_unasked(page):
    typed(page)
    other = page.context.new_page()
    other.goto(page.url)
    assert is_there(other)
    other.fill("#id_indication", "from the other window")
    saved(other)
    page.fill("#id_indication", "from the first window")
    expect(page.locator("#draft-elsewhere")).to_contain_text("Another window saved a newer version")
    assert elsewhere(lambda: Draft.objects.get().typed["indication"]) == "from the other window"
    page.click("#draft-mine")
    saved(page)
    assert elsewhere(lambda: Draft.objects.get().typed["indication"]) == "from the first window"


def test_a_refused_order_survives_reload_and_back(page):
    typed(page)
    page.fill("#id_mrn", "")
    page.click("#place")
    page.wait_for_selector("#error-summary")
    assert page.evaluate("document.activeElement.id") == "error-summary"
    saved(page)
    page.route("**/orders/new/draft", lambda route: route.abort())  # what is typed last reaches no server before the page is gone
    page.fill("#id_mrn", form.FIELDS["mrn"])
    page.reload()
    assert is_there(page)
    page.unroute("**/orders/new/draft")
    saved(page)
    page.goto("/")
    page.go_back()
    assert is_there(page)


def test_it_can_be_discarded(page):
    typed(page)
    page.reload()
    page.get_by_role("button", name="Discard it").click()
    expect(page.locator("p.good")).to_contain_text("The draft is discarded.")
    expect(page.locator("#id_family_name")).to_have_value("")
    assert elsewhere(lambda: Draft.objects.get().typed) == {}


def test_somebody_else_who_logs_in_here_does_not_see_it(page):
    typed(page)
    end_session()
    page.goto("/orders/new/")
    log_in_again(page, "accessioner")
    page.wait_for_url("**/orders/new/")
    expect(page.locator("#id_family_name")).to_have_value("")
    assert page.locator("#drafts").count() == 0 and page.evaluate(KEPT) is None
