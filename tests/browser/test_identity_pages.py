"""Two journeys: an identity check is settled, and from the wrong patient to the order of the right one."""

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.services import actor_for
from orders import checking, services, uploads
from orders.models import Intake, Order
from registry.models import TestVersion
from tests.browser.form import TEST, fill, first_records
from tests.browser.served import NARROW, WIDE, elsewhere
from tests.browser.test_every_page import ends_of, serious
from tests.factories import make_request
from tests.orders.people import contradicting

pytestmark = pytest.mark.browser


def placed(priority="routine"):
    """An order of the laboratory's own accessioner on three real records."""
    actor = actor_for(User.objects.get(email__startswith="accessioner@"))
    home = next(iter(actor.organisations("place")))
    test = TestVersion.objects.get(definition__name=TEST, offered=True)
    chunks = [first_records(3).encode()]
    intake = uploads.start_intake(actor=actor, test_version=test, ordering_organisation_id=home, chunks=chunks, filename="lexA.vcf")
    checking.check_intake(intake.pk)
    said = {"priority": priority, "stat_reason": "sepsis" if priority == "stat" else ""}
    return services.place(actor=actor, request=make_request(Intake.objects.get(pk=intake.pk), **said))


def in_question():
    return contradicting(placed(), priority="stat", family_name="Married", given_name="Maria").accession


def fits(page):
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.set_viewport_size(WIDE)


def test_an_identity_check_is_settled_from_the_worklist_by_keyboard(person):
    accession = elsewhere(in_question)
    page = person("accessioner").page
    expect(page.get_by_role("link", name="Identity 1 open, 1 STAT")).to_be_visible()
    page.get_by_role("link", name=f"Decide who it is: {accession}").press("Enter")
    assert serious(page) == []
    fits(page)
    page.locator("[name=do][value=record]").press("Space")
    page.fill("#id_words", "married, seen the passport")
    page.get_by_role("button", name="Decide").press("Enter")
    expect(page.locator("p.good")).to_contain_text("The record is corrected")
    expect(page.locator("#timeline")).to_contain_text("Accepted")
    page.click("#patient-link")
    expect(page.locator("aside .timeline")).to_contain_text("Family name: Muster → Married. “married, seen the passport”")
    assert serious(page) == []
    fits(page)


def test_the_bar_is_one_line_where_most_waits(person):
    elsewhere(in_question)
    for mailbox in ("accessioner", "director"):
        page = person(mailbox).page
        assert mailbox == "director" or "1" in page.inner_text("header nav .waiting")
        ends, lines = ends_of(page, "header nav > ul > li > a, header nav summary, header .bell, header .who button")
        assert ends <= WIDE["width"]
        assert max(lines) - min(lines) < 12, lines
        assert page.locator("header .who button").bounding_box()["height"] < 40
        assert ends_of(page, "td.c-do .btn")[0] <= WIDE["width"] - 24
        page.set_viewport_size(NARROW)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_what_a_director_opens_seldom_is_one_key_away_and_escape_gives_the_focus_back(person):
    page = person("director").page
    page.goto("/audit/")
    more = page.locator("header nav summary")
    assert "here" in (more.get_attribute("class") or "")
    more.press("Enter")
    expect(page.get_by_role("link", name="Retention")).to_be_visible()
    assert serious(page) == []
    page.get_by_role("link", name="Retention").press("Escape")
    expect(page.get_by_role("link", name="Retention")).to_be_hidden()
    expect(more).to_be_focused()


def test_from_the_wrong_patient_to_the_order_of_the_right_one(person, checked):
    wrong = elsewhere(lambda: placed("stat"))
    page = person("accessioner").page
    page.goto(f"/orders/{wrong.pk}/")
    page.click("#wrong-patient-link")
    assert serious(page) == []
    fits(page)
    page.fill("#id_words", "tubes were swapped")
    page.check("#id_confirmed")
    page.get_by_role("button", name="Mark as entered in error").click()
    expect(page.locator("#in-error")).to_contain_text("tubes were swapped")
    assert serious(page) == []
    page.click("#replace")
    page.wait_for_selector("#verdict[data-state=ready]")
    assert page.input_value("#id_family_name") == "" and "lexA.vcf" in page.inner_text("#verdict")
    fill(page)
    page.click("#place")
    expect(page.locator("#replaced-order")).to_have_text(f"order {wrong.accession}")
    new = elsewhere(lambda: Order.objects.select_related("intake").get(replaces=wrong.pk))
    before = elsewhere(lambda: Order.objects.select_related("intake").get(pk=wrong.pk))
    assert (new.patient_id != wrong.patient_id, new.intake.file_id) == (True, before.intake.file_id)
