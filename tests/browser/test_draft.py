"""What is typed into the order form outlives an ended session, a reload and the back button, and nothing else."""

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from orders.models import Order
from tests.browser import form
from tests.browser.served import elsewhere, until
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


def typed(page):
    """A checked input and every field filled in, as the window's store has them."""
    form.choose_test(page)
    form.check(page, form.first_records(20))
    form.fill(page, stat=True)
    until(lambda: "suspected sepsis" in (page.evaluate(KEPT) or ""), page)


def is_back(page):
    expect(page.locator("#draft")).to_contain_text("What you typed here before is back.")
    values = {name: page.input_value(f"#id_{name}") for name in form.FIELDS}
    return values == form.FIELDS and page.is_checked("#id_priority_0") and page.is_visible("#id_stat_reason")


def test_an_order_sent_after_the_session_has_ended_comes_back_filled_in_and_can_be_placed(page):
    typed(page)
    end_session()
    page.click("#place")
    page.wait_for_selector("#id_username")
    log_in_again(page)
    page.wait_for_selector("#order-form")
    assert is_back(page)
    page.wait_for_selector("#verdict[data-state=ready]")
    page.click("#place")
    page.wait_for_url("**/orders/*-*/")
    assert page.evaluate(KEPT) is None
    assert elsewhere(lambda: Order.objects.latest("placed_at").stat_reason) == "suspected sepsis"


def test_a_part_that_meets_an_ended_session_says_so_at_once_beside_what_was_typed(page):
    typed(page)
    end_session()
    page.click("#check")
    expect(page.locator("#session-ended")).to_contain_text("Your session has ended.")
    assert page.input_value("#id_family_name") == "Okafor"
    page.click("#session-ended a")
    expect(page.locator("main")).to_contain_text("Your session has ended.")
    log_in_again(page)
    page.wait_for_selector("#draft")
    assert is_back(page)


def test_a_refused_order_survives_reload_and_back(page):
    typed(page)
    page.fill("#id_mrn", "")
    page.click("#place")
    page.wait_for_selector("#error-summary")
    page.fill("#id_mrn", form.FIELDS["mrn"])
    until(lambda: form.FIELDS["mrn"] in page.evaluate(KEPT), page)
    page.reload()
    assert is_back(page)
    page.goto("/")
    page.go_back()
    assert is_back(page)


def test_it_can_be_discarded(page):
    typed(page)
    page.reload()
    page.click("#draft-discard")
    expect(page.locator("#id_family_name")).to_have_value("")
    expect(page.locator("#draft")).to_be_hidden()
    assert page.evaluate(KEPT) is None


def test_logging_out_forgets_it_and_the_browsers_lasting_store_never_knew_it(page):
    typed(page)
    assert "Okafor" not in page.evaluate("JSON.stringify(localStorage)")
    page.click("text=Log out")
    page.wait_for_url("**/login/**")
    assert page.evaluate(KEPT) is None


def test_somebody_else_who_logs_in_here_does_not_see_it(page):
    typed(page)
    end_session()
    page.goto("/orders/new/")
    log_in_again(page, "accessioner")
    page.wait_for_url("**/orders/new/")
    expect(page.locator("#id_family_name")).to_have_value("")
    assert page.evaluate(KEPT) is None
