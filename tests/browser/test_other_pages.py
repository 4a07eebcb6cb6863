"""axe-core on the pages that no journey opens; and every page is opened by it somewhere."""

import os
from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import resolve, reverse

from accounts.break_glass_models import Kind
from accounts.models import Membership, Site, User
from accounts.services import actor_for
from casefile import drafts
from casefile.attachments import attach
from dashboard.urls import urlpatterns
from drift import following, references
from drift.models import FrozenReference
from drift.references import Period
from engine_queue.models import Job, Run
from foundation import clock
from inspection import making
from inspection import services as inspection
from orders import emergency, merging
from orders.downtimes import lines
from orders.downtimes import records as downtimes
from orders.models import Order
from tests.browser.served import NARROW, WIDE, elsewhere
from tests.browser.test_every_page import serious
from tests.browser.test_identity_pages import in_question
from tests.browser.test_identity_pages import placed as placed_here
from tests.drift.rows import fill, noon, today
from tests.drift.test_following import counted
from tests.factories import PASSWORD, make_provider

PICTURES = os.environ.get("SCREENSHOTS", "")  # a folder, for docs/screenshots
HERE = {
    "worklist-filters", "order-comments", "order-attachments", "order-attachment-withdraw", "audit", "provider", "site",
    "identity-checks", "patients", "patient-merge", "patient-unmerge", "programs",
    "engine-part", "stat-list", "audit-reports", "audit-report-new", "audit-report", "audit-chain", "break-glass",
    "break-glasses", "break-glass-opening", "downtimes", "downtime", "retention",
    "drift", "drift-stream",
}  # fmt: skip
# Opened under axe by the other files of this folder.
ELSEWHERE = {
    "worklist", "login", "order-new", "order", "order-cancel", "engine", "bulk-new", "bulk", "order-urgency", "order-delay",
    "notifications", "clocks", "calendar", "turnaround", "webhooks", "order-identity", "order-wrong-patient", "patient",
    "order-audit", "specimens", "specimen", "providers", "sites", "test", "api-tokens", "api", "asked", "order-conflict",
    "questions", "question-new", "question", "question-audit", "order-review", "order-sign", "order-correct", "validation",
    "order-recipients", "order-critical",
}  # fmt: skip
# Parts of pages, files, and addresses that take a form.
NO_PAGES = {
    "worklist-live", "worklist.csv", "worklist-act", "logout", "order-draft", "order-draft-discard", "order-input", "bulk-template",
    "bulk-live", "bulk-verdict.csv", "intake", "intake-finishes", "intake-remove", "order-live", "order-replace", "order-repeat",
    "order-recollect", "order-attachment", "order-audit.csv", "bell", "notifications-read", "turnaround.csv", "api-token-revoke",
    "engine-live", "engine-trace", "engine-trace.svg", "engine-trace.json", "question-check", "question-live", "question-cancel",
    "question-file", "audit-report-live", "audit-report-withdraw", "audit-report-file", "stat-list-live",
    "audit-chain-live", "audit-chain-check", "worklist-names", "order-track", "downtime.csv", "retention.csv",
    "drift-freeze", "drift-call",
}  # fmt: skip


def test_every_page_is_opened_under_axe_somewhere():
    unnamed = {pattern.name for pattern in urlpatterns if pattern.name} - HERE - ELSEWHERE - NO_PAGES
    assert unnamed == set(), "open it under axe, and name it here"


def pictured(page, address):
    if PICTURES:
        name = resolve(address.partition("?")[0]).url_name + ("-form" if address.endswith("?form") else "")
        page.screenshot(path=f"{PICTURES}/{name}-{page.viewport_size['width']}.png", full_page=True)


def somebody(mailbox):
    return User.objects.get(email__startswith=f"{mailbox}@")


def audit_report(order):
    """Made, of all that happened around an order."""
    director = actor_for(somebody("director"))
    typed = {"order": order.accession}
    report = inspection.ask(actor=director, laboratory_id=order.performing_laboratory_id, kind="order", typed=typed)
    making.make(report.pk)
    return report


def opened(order):
    """By break-glass, for the requester; and the form of it, for an administrator who orders at the hospital too."""
    requester = somebody("requester")
    asked = emergency.Asked(
        order.performing_laboratory_id, order.stated_mrn, order.patient.birth_date, Kind.EMERGENCY, "Unconscious, no history"
    )
    hospital = requester.memberships.get().organisation
    Membership.objects.create(user=somebody("administrator"), organisation=hospital, role="requester", granted_at=clock.now())
    return emergency.open_for(actor=actor_for(requester), asked=asked, password=PASSWORD)


def down_before(order):
    """A downtime in which this order was in progress, with a line that a person has added and one that is ticked."""
    operator, clerk = (actor_for(somebody(one)) for one in ("operator", "accessioner"))
    laboratory = order.performing_laboratory_id
    began = Order.objects.get(pk=order.pk).placed_at + timedelta(milliseconds=1)
    made = downtimes.open_downtime(actor=operator, laboratory_id=laboratory, what="everything", words="moved", began_at=began)
    told = {"kind": "told", "accession": order.accession, "words": "result to Dr Lee by telephone, 03:10"}
    line = lines.add(actor=clerk, downtime=made, **told)
    lines.tick(actor=clerk, downtime=made, chosen=[line.pk], note="the report says the same")
    lines.add(actor=clerk, downtime=made, **(told | {"words": "result to ward 3 by telephone, 03:20"}))
    return made


def late_draft(clerk, home, downtime):
    """A draft on which the switch of a late entry is on."""
    pk = uuid4()
    typed = {"late": "on", "downtime": str(downtime.pk), "taken_by": "Nurse Joy", "late_reason": "unreachable"}
    drafts.save(actor=clerk, wanted=drafts.Save(id=pk, organisation_id=home.pk, typed=typed))
    return pk


def drifted(order):
    """Its test with a reference, days of which the last was far off, and the call that is open for it."""
    test, day = Run.objects.get(order_id=order.pk).test, today() - timedelta(days=9)
    fill(test, noon(9), 4000)
    references.freeze(actor=actor_for(somebody("director")), test=test, period=Period(day, day))
    delta = FrozenReference.objects.get(test_version=test, feature="delta")
    days = ((8, 4000, 0.0), (7, 4000, 0.02), (6, 500, 0.0), (5, 3000, 0.0), (4, 4000, 0.05), (3, 4000, 0.5))
    for days_ago, number, shift in days:
        counted(delta, days_ago, number, shift=shift)
    following.follow()
    return [reverse("drift"), reverse("drift-stream", args=[delta.pk])]


def prepared():
    """Addresses by whom: pages of an order, of two records that were one, of lists and their rows."""
    first, other = placed_here(), placed_here()
    clerk = actor_for(somebody("accessioner"))
    merge = merging.merge(survivor=first.patient, merged=other.patient, words="same person", actor=clerk, expected=(1, 1))
    in_question()
    third = placed_here()
    paper = attach(actor=clerk, order=first, name="a.txt", kind="other", chunks=lambda: [b"plain words"])
    order, home = str(first.pk), first.ordering_organisation
    grant = opened(third)
    downtime = down_before(first)
    Job.objects.filter(run__order_id=first.pk).update(attention="job.worker-died", deaths=3)
    return {
        "accessioner": [
            reverse("order-comments", args=[order]), reverse("order-attachments", args=[order]),
            reverse("order-attachment-withdraw", args=[order, paper.pk]), reverse("identity-checks"), reverse("stat-list"),
            f"{reverse('patients')}?q=Muster", f"{reverse('patient-merge', args=[first.patient_id])}?number={third.stated_mrn}",
            reverse("patient-unmerge", args=[merge.pk]), reverse("provider", args=[make_provider(home).pk]),
            reverse("downtime", args=[downtime.pk]), f"{reverse('order-new')}?draft={late_draft(clerk, home, downtime)}",
        ],
        "director": [
            reverse("worklist-filters"), reverse("audit"), reverse("audit-reports"), reverse("audit-report-new", args=["model"]),
            reverse("audit-report", args=[audit_report(first).pk]), reverse("audit-chain"), *drifted(first),
            reverse("retention"), reverse("break-glasses"), reverse("break-glass-opening", args=[grant.pk]),
        ],
        "requester": [reverse("break-glass")],
        "operator": [reverse("downtimes"), reverse("engine-part", args=[Job.objects.get(run__order_id=first.pk).pk])],
        "administrator": [
            f"{reverse('break-glass')}?form", reverse("programs"),
            reverse("site", args=[Site.objects.filter(organisation=home).earliest("pk").pk]),
        ],
    }  # fmt: skip


@pytest.mark.browser
def test_axe_finds_nothing_serious_on_the_pages_that_no_journey_opens_and_nothing_lies_to_the_side(person):
    for mailbox, addresses in elsewhere(prepared).items():
        page = person(mailbox).page
        for address in addresses:
            assert page.goto(address).status == 200, address
            assert serious(page) == [], address
            pictured(page, address)
            page.set_viewport_size(NARROW)
            pictured(page, address)
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], address
            page.set_viewport_size(WIDE)
