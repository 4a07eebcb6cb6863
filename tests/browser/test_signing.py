"""One journey: review, two signatures, a correction, and its two signatures by people who did not write it."""

import os
from io import BytesIO
from pathlib import Path

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from accounts.models import User
from accounts.services import actor_for
from orders import checking, uploads
from orders.models import Intake
from registry.models import TestVersion
from tests.browser.form import TEST, first_records
from tests.browser.served import NARROW, WIDE, elsewhere
from tests.browser.test_every_page import serious
from tests.factories import PASSWORD
from tests.reports import cases

pytestmark = pytest.mark.browser
PICTURES = os.environ.get("SCREENSHOTS", "")  # a folder, for docs/screenshots


def scored():
    """An order of the demo laboratory on three real records, with results."""
    actor = actor_for(User.objects.get(email__startswith="accessioner@"))
    test = TestVersion.objects.get(definition__name=TEST, offered=True)
    home, chunks = next(iter(actor.organisations("place"))), [first_records(3).encode()]
    intake = uploads.start_intake(actor=actor, test_version=test, ordering_organisation_id=home, chunks=chunks, filename="lexA.vcf")
    checking.check_intake(intake.pk)
    return cases.scored_order(intake=Intake.objects.get(pk=intake.pk))


def sign(page, says):
    page.fill("#id_password", PASSWORD)
    page.locator("#sign").get_by_role("button", name="Sign").press("Enter")
    expect(page.locator("p.good")).to_contain_text(says)


def looked_at(page, name):
    """Nothing serious under axe, nothing to the side; and a picture where one is asked for."""
    assert serious(page) == []
    for size in (NARROW, WIDE):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
        if PICTURES:
            page.screenshot(path=Path(PICTURES) / f"{name}-{size['width']}.png", full_page=True)


def interpreted(analyst):
    """An analyst writes what the results mean, and decides nothing."""
    analyst.fill("#id_text", "Two of the three changes are in the open reading frame.")
    analyst.get_by_role("button", name="Keep the interpretation").click()
    expect(analyst.locator("#interpretation")).to_contain_text("By Anna Analyst")
    expect(analyst.locator("#decision")).to_contain_text("Your role does not include reviewing")


def reviewed_and_signed(reviewer):
    """By keyboard, with a wrong password first."""
    reviewer.click("#review-link")
    looked_at(reviewer, "review")
    reviewer.get_by_role("button", name="Approve").press("Enter")
    expect(reviewer.locator("#signing")).to_contain_text("Still missing")
    looked_at(reviewer, "sign")
    for sheet in PdfReader(BytesIO(reviewer.pdf(prefer_css_page_size=True))).pages:
        assert all(words in sheet.extract_text() for words in ("MRN", "born", "NOT FOR CLINICAL USE"))
    reviewer.fill("#id_password", "not it at all")
    reviewer.locator("#sign").get_by_role("button", name="Sign").click()
    expect(reviewer.locator("[role=alert]")).to_contain_text("That is not your password")
    sign(reviewer, "Another person signs next")
    expect(reviewer.locator("#signing")).to_contain_text("You have signed already")


def corrected(reviewer):
    reviewer.click("#correct-link")
    looked_at(reviewer, "correct")
    reviewer.fill("#id_reason", "One change was counted twice.")
    reviewer.fill("#id_text", "One of the three changes is in the open reading frame.")
    reviewer.get_by_role("button", name="Make the new version").click()
    expect(reviewer.locator("#signing")).to_contain_text("You wrote the interpretation")


def test_review_sign_second_sign_correct_and_sign_again_by_two_people(person):
    order = elsewhere(scored)
    here = f"/orders/{order.pk}"
    analyst, reviewer, second, director = (person(who).page for who in ("analyst", "reviewer", "second-reviewer", "director"))
    analyst.goto(f"{here}/review")
    interpreted(analyst)
    reviewer.goto(f"{here}/")
    reviewed_and_signed(reviewer)
    director.goto(f"{here}/sign")
    sign(director, "the report is issued")
    expect(director.locator("#signatures")).to_contain_text("Dr Robin Review")
    looked_at(director, "report-issued")
    reviewer.goto(f"{here}/")
    corrected(reviewer)
    for page, says in ((second, "Another person signs next"), (director, "the report is issued")):
        page.goto(f"{here}/sign")
        sign(page, says)
    expect(director.locator(".banner").first).to_contain_text("CORRECTED REPORT")
    expect(director.locator("#versions")).to_contain_text("superseded")
    looked_at(director, "report-corrected")
    director.goto("/validation/")
    looked_at(director, "validation")
