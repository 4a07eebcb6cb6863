"""Approve, return, reject; preliminary reports of STAT; two reviewers on one draft."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from engine_queue.models import Run
from foundation.errors import NotPermitted, Stale
from orders.errors import InvalidOrder
from orders.models import Specimen
from reports import document, interpreting, release, reviewing, services, signing
from reports.content import parse
from reports.models import ReportVersion, Review
from tests.dashboard.people import logged_in, read
from tests.factories import make_actor, make_order
from tests.orders.test_runs_beside import settled
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    return signers.scored()


@pytest.fixture
def lab(order):
    return signers.laboratory_of(order)


def test_approval_keeps_what_was_seen_and_makes_the_version_to_sign_with_the_words_of_the_interpretation(order, lab):
    signers.interpret(order, lab, "First line.\n\nSecond line.")
    draft = signers.seen(order, lab)
    version = reviewing.approve(order=order, actor=lab.actor(Role.REVIEWER), seen=draft.pk, note="looked at twice")
    review = Review.objects.get()
    assert (review.decision, review.seen_sha256, review.note) == ("approve", draft.content_sha256, "looked at twice")
    printed = document.compose(version)
    assert printed.interpretation == ("First line.", "Second line.") and printed.interpreted_by.startswith(
        "Interpretation by Analyst"
    )
    draft.refresh_from_db()
    assert (draft.state, version.state, version.kind, version.author_id) == (
        "discarded",
        "draft",
        "study",
        lab.user(Role.ANALYST).pk,
    )


def test_an_interpretation_keeps_the_joiners_that_a_script_is_spelt_with_and_no_character_that_hides(order, lab):
    signers.interpret(order, lab, "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\u202e x\r\n\r\ny\x00")
    assert interpreting.last(order).text == "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645  x\n\ny"


def test_of_two_reviewers_the_second_reads_who_was_quicker(order, lab):
    draft = signers.seen(order, lab)
    reviewing.approve(order=order, actor=lab.actor(Role.REVIEWER), seen=draft.pk)
    with pytest.raises(Stale, match="Reviewer was quicker: approved"):
        reviewing.reject(order=order, actor=lab.actor(Role.DIRECTOR), seen=draft.pk, note="no")
    assert cases.read(order).state == "awaiting_review"


def test_a_stale_page_decides_nothing(order, lab):
    draft = signers.seen(order, lab)
    signers.interpret(order, lab)
    with pytest.raises(Stale, match="changed since you opened"):
        reviewing.approve(order=order, actor=lab.actor(Role.REVIEWER), seen=draft.pk)
    assert not Review.objects.exists()


def test_a_returned_order_is_another_run_and_comes_back_when_that_is_scored():
    order = make_order(variants=4)
    lab, first = signers.laboratory_of(order), cases.newest_run(order)
    settled(first)
    order = cases.read(order)
    draft, dues = signers.seen(order, lab), (order.result_due, order.report_due)
    with pytest.raises(InvalidOrder):
        reviewing.send_back(order=order, actor=lab.actor(Role.REVIEWER), seen=draft.pk, note=" ")
    again = reviewing.send_back(order=order, actor=lab.actor(Role.REVIEWER), seen=draft.pk, note="flags everywhere")
    order = cases.read(order)
    assert (order.state, order.items_done, order.scored_at) == ("in_analysis", 0, None)
    assert (order.result_due, order.report_due) == dues  # promised at acceptance
    assert (again.kind, again.supersedes, set(again.jobs.values_list("attempt", flat=True))) == ("repeat", first, {0})
    assert (again.model_version, again.protocol, again.item_set) == (first.model_version, first.protocol, first.item_set)
    settled(again)
    order = cases.read(order)
    assert (order.state, order.items_done) == ("awaiting_review", order.items_total)
    assert Run.objects.get(pk=first.pk).state == "scored"
    assert signers.issued(order, lab).run == again


def test_rejected_results_end_the_order_and_the_requester_reads_why(order, lab):
    draft = signers.seen(order, lab)
    reviewing.reject(order=order, actor=lab.actor(Role.REVIEWER), seen=draft.pk, note="wrong sample")
    order = cases.read(order)
    assert (order.state, order.cancelled_reason) == ("cancelled", "The results were rejected on review: wrong sample")
    assert not order.reports.exclude(state="discarded").exists()
    requester = make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    assert services.show(actor=requester, order=order).version is None and not release.may_see_scores(requester, order)


def test_a_stat_order_has_a_preliminary_report_by_one_permitted_person_and_then_its_own():
    order = signers.scored(priority="stat", signers=2)
    lab = signers.laboratory_of(order)
    requester = make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    with pytest.raises(NotPermitted):
        reviewing.preliminary(order=order, actor=lab.actor(Role.ANALYST), seen=signers.seen(order, lab).pk)
    version = reviewing.preliminary(order=order, actor=lab.actor(Role.REVIEWER), seen=signers.seen(order, lab).pk)
    assert not release.may_see_scores(requester, order)
    signers.sign(version, lab.actor(Role.REVIEWER))
    order = cases.read(order)
    assert (
        release.released_version(order) == version and order.state == "awaiting_review" and release.may_see_scores(requester, order)
    )
    assert "PRELIMINARY REPORT" in document.compose(version).banners
    final = signers.issued(order, lab)
    version.refresh_from_db()
    assert (version.state, final.supersedes, cases.read(order).state) == ("superseded", version, "reported")
    assert parse(final.content).report.supersedes == version.number


def test_while_a_returned_order_is_run_again_the_page_says_that_its_preliminary_report_stands():
    order = make_order(variants=4, priority="stat")
    lab = signers.laboratory_of(order)
    settled(cases.newest_run(order))
    order, director = cases.read(order), lab.actor(Role.DIRECTOR)
    version = reviewing.preliminary(order=order, actor=director, seen=signers.seen(order, lab).pk)
    signers.sign(version, director)
    reviewing.send_back(order=cases.read(order), actor=director, seen=signers.seen(order, lab).pk, note="flags everywhere")
    page = read(logged_in(Role.DIRECTOR, lab.organisation), "report-page", order.pk)
    assert "The report of the run before stands" in page
    assert reverse("report-version", args=[order.pk, version.number]) in page


def test_an_order_with_more_results_than_a_report_holds_says_so_where_it_would_be_reviewed(order, lab, monkeypatch):
    reviewer = logged_in(Role.REVIEWER, lab.organisation)
    assert "a report holds at most" not in read(reviewer, "order-review", order.pk)
    monkeypatch.setattr(services, "LARGEST", 3)
    page = read(reviewer, "order-review", order.pk)
    assert "This order has 4 results, and a report holds at most 3: it cannot be reviewed" in page


def test_a_preliminary_report_whose_order_was_rejected_later_says_that_it_is_not_valid():
    order = signers.scored(signers=1, priority="stat")
    lab = signers.laboratory_of(order)
    director, drafts = lab.actor(Role.DIRECTOR), order.reports.filter(kind="unsigned")
    signers.sign(reviewing.preliminary(order=order, actor=director, seen=signers.seen(order, lab).pk), director)
    reviewing.reject(order=order, actor=lab.actor(Role.REVIEWER), seen=signers.seen(order, lab).pk, note="The control failed.")
    now, number = cases.read(order), drafts.count()
    reader = make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    assert services.show(actor=reader, order=now).door is services.Door.RECALLED
    shown = services.show(actor=director, order=now).version
    assert shown.kind == "preliminary" and "THE ORDER WAS CANCELLED: NOT VALID" in document.compose(shown).banners
    assert drafts.count() == number, "nothing is drafted any more"


def test_there_is_no_preliminary_report_of_a_routine_order(order, lab):
    with pytest.raises(reviewing.OnlyStat):
        reviewing.preliminary(order=order, actor=lab.actor(Role.REVIEWER), seen=signers.seen(order, lab).pk)


@pytest.mark.parametrize("why", ["withdrawn", "edited", "changed"])
def test_an_order_whose_first_signature_is_gone_awaits_its_review_again_and_its_page_says_why(why):
    order = signers.scored(signers=2)
    lab = signers.laboratory_of(order)
    version = signers.approved(order, lab)
    signers.sign(version, lab.actor(Role.REVIEWER))
    assert cases.read(order).state == "awaiting_second_review"
    if why == "withdrawn":
        reviewing.withdraw(order=order, actor=lab.actor(Role.REVIEWER), seen=version.pk)
    elif why == "edited":
        signers.interpret(order, lab)
    else:
        Specimen.objects.filter(pk=order.specimen_id).update(condition="haemolysed")
        with pytest.raises(signing.FactsChanged):
            signers.sign(version, lab.actor(Role.DIRECTOR))
    assert cases.read(order).state == "awaiting_review"
    client = Client()
    client.force_login(lab.user(Role.DIRECTOR))
    page = client.get(reverse("order", args=[order.pk])).content.decode()
    assert "First signature taken back" in page and page.count(">Scored<") == 1
    assert signers.issued(order, lab).state == "released"


def test_what_waits_can_be_taken_back_and_approved_again(order, lab):
    waits = signers.approved(order, lab)
    reviewing.withdraw(order=order, actor=lab.actor(Role.DIRECTOR), seen=waits.pk)
    waits.refresh_from_db()
    again = signers.issued(cases.read(order), lab)
    assert (waits.state, again.state, again.number > waits.number) == ("discarded", "released", True)
    assert ReportVersion.objects.filter(state="released").count() == 1
