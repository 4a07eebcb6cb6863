"""What a reviewer does instead of approving; and a clinical test from its validation by two people to a final report."""

import pytest
from playwright.sync_api import expect

from engine_queue.models import Job, Run
from orders.models import Order
from registry.models import Deployment, IntendedUse, TestVersion
from registry.services import offer_test
from reports.models import ReportVersion
from tests.browser.form import TEST
from tests.browser.served import elsewhere
from tests.browser.test_signing import looked_at, scored, sign
from tests.factories import PASSWORD
from tests.orders.test_runs_beside import settled

pytestmark = pytest.mark.browser


def run_again(order):
    """What the engine does with the run that the reviewer asked for; nothing else is claimed before it."""
    again = Run.objects.get(order_id=order.pk, kind="repeat")
    Job.objects.exclude(run=again).update(held=True)
    settled(again)


def test_an_order_is_returned_run_again_reviewed_again_and_rejected(person):
    order = elsewhere(scored)
    review = f"/orders/{order.pk}/review"
    page = person("reviewer").page
    page.goto(review)
    page.locator("#decision summary").click()
    expect(page.locator("#dues")).to_contain_text("A return moves neither")
    page.fill("#id_return", "Flags everywhere.")
    page.get_by_role("button", name="Return for another run").press("Enter")
    expect(page.locator("p.good")).to_contain_text("is run again, with the due times it had")
    elsewhere(lambda: run_again(order))
    page.goto(review)
    expect(page.locator("#decision")).to_contain_text("Returned for another run by Dr Robin Review")
    page.locator("#decision summary").click()
    page.fill("#id_reject", "The isolate was contaminated.")
    page.check("#id_confirmed")
    page.get_by_role("button", name="Reject the results").press("Enter")
    expect(page.locator("p.good")).to_contain_text("no report comes of it")
    assert elsewhere(lambda: Order.objects.get(pk=order.pk).state) == "cancelled"


def clinical():
    """The panel offered for clinical use, on a deployment that has loaded once; and a scored order of it."""
    plain = TestVersion.objects.get(definition__name=TEST, offered=True)
    Deployment.objects.filter(pk=plain.deployment_id).update(fingerprint="f" * 64, golden="9" * 64)
    kept = ("accepts", "reference", "annotation", "deployment", "protocol", "sla_minutes", "limitations")
    offer_test(
        laboratory=plain.definition.laboratory, code=plain.definition.code, name="", intended_use=IntendedUse.CLINICAL,
        signatures={**plain.signatures, "routine": 1}, **{name: getattr(plain, name) for name in kept},
    )  # fmt: skip
    return scored()


def test_two_people_validate_a_clinical_test_and_its_report_is_final(person):
    order = elsewhere(clinical)
    steward, director = person("steward").page, person("director").page
    director.goto(f"/orders/{order.pk}/review")
    expect(director.locator("#approve")).to_contain_text("nothing of it can be final")
    steward.goto("/validation/")
    steward.fill("#id_statement", "Isolates from blood cultures; 200 changes with a known effect.")
    steward.get_by_role("button", name="Propose").press("Enter")
    director.goto("/validation/")
    director.locator("[id^=password-]").fill(PASSWORD)
    director.get_by_role("button", name="Approve").press("Enter")
    expect(director.locator("[id^=record-] .tag").first).to_contain_text("stands")
    director.goto(f"/orders/{order.pk}/review")
    director.get_by_role("button", name="Approve").press("Enter")
    sign(director, "the report is issued")
    expect(director.locator(".report .banner")).to_have_count(0)
    assert elsewhere(lambda: ReportVersion.objects.get(order=order, state="released").kind) == "final"
    director.goto("/audit/chain/")
    expect(director.locator(".alarm")).to_have_count(0)  # what was written before it was sealed, and is anchored
    looked_at(director, "audit-chain")
