"""Corrections and amendments: signed like the first report, different field by field, with what stood still readable."""

import pytest
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from foundation.errors import NotPermitted, Stale
from orders.models import Order, Patient
from reports import correcting, document, interpreting, issuing, release, reviewing, wrong_patient
from reports.content import Change, digest, parse
from tests.dashboard.people import logged_in, read
from tests.factories import make_actor
from tests.forging import forging
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    return signers.scored()


@pytest.fixture
def lab(order):
    return signers.laboratory_of(order)


def test_a_correction_says_what_changed_and_why_and_supersedes_when_it_is_signed(order, lab):
    first = signers.issued(order, lab)
    with forging():
        Patient.objects.filter(pk=order.patient_id).update(family_name="Mustermann")
    second = signers.corrected(order, lab)
    assert release.released_version(order) == first  # until it is signed
    second = signers.signed(second, lab)
    first.refresh_from_db()
    assert (first.state, second.state, second.kind, cases.read(order).state) == (
        "superseded", "released", "study-corrected", "reported",
    )  # fmt: skip
    told = parse(second.content)
    assert Change("patient: family name", "Muster", "Mustermann") in told.changes
    assert Change("interpretation: text", "", "Corrected words.") in told.changes
    printed = document.compose(second)
    assert "CORRECTED REPORT" in printed.banners and "A name was wrong." in printed.revision
    (written,) = [row for row in printed.changes.rows if row[0] == "interpretation: written at"]
    assert all(side == "–" or side.endswith(" UTC") for side in written[1:])  # in the site's zone, with its name
    assert "SUPERSEDED" in document.compose(first).banners[0] and "Muster," in document.compose(first).identity


def test_a_correction_begins_with_the_words_that_stand_and_not_with_those_of_one_that_was_withdrawn(order, lab):
    signers.interpret(order, lab, "Words that stand.")
    signers.issued(order, lab)
    waits = signers.corrected(order, lab, "Words that nobody signed.")
    reviewing.withdraw(order=order, actor=lab.actor(Role.REVIEWER), seen=waits.pk)
    page = read(logged_in(Role.REVIEWER, lab.organisation), "order-correct", order.pk)
    assert "Words that stand." in page and "Words that nobody signed." not in page


def test_the_csv_that_a_version_names_is_given_out_before_its_issue_and_after_another_took_its_place(order, lab):
    first, client = signers.approved(order, lab), logged_in(Role.DIRECTOR, lab.organisation)

    def named() -> bool:
        body = client.get(reverse("report-version-csv", args=[order.pk, first.number])).content.decode()
        return f"CSV with SHA-256 {digest(body)}" in " ".join(document.compose(first).results.notes)

    assert named() and reverse("report-version-csv", args=[order.pk, first.number]) in read(client, "order-sign", order.pk)
    signers.signed(first, lab)
    signers.signed(signers.corrected(order, lab), lab)
    first.refresh_from_db()
    assert first.state == "superseded" and named()


def test_the_canonical_text_is_taken_away_as_the_pdf_is(order, lab):
    version, client = signers.issued(order, lab), logged_in(Role.DIRECTOR, lab.organisation)
    for name in ("report-version-json", "report-version-pdf", "report-version-csv"):
        client.get(reverse(name, args=[order.pk, version.number]))
    said = Event.objects.filter(object_id=str(version.pk), action__in=["report.viewed", "report.downloaded"])
    assert set(said.values_list("action", flat=True)) == {"report.downloaded"}


def test_a_correction_of_words_where_two_sign_takes_two_who_did_not_write_them():
    order = signers.scored(signers=2)
    lab = signers.laboratory_of(order)
    signers.issued(order, lab)
    waits = signers.corrected(order, lab)
    with pytest.raises(NotPermitted, match="You wrote"):
        signers.sign(waits, lab.actor(Role.REVIEWER), signers.Meaning.REVIEW)
    signers.sign(waits, lab.actor(Role.REVIEWER, "second"))
    signers.sign(waits, lab.actor(Role.DIRECTOR))
    assert release.released_version(cases.read(order)) == waits


def test_a_clinical_report_is_corrected_and_amended_as_such():
    order = signers.scored(use="clinical")
    lab = signers.laboratory_of(order)
    signers.validate(order.test_version, lab)
    signers.issued(cases.read(order), lab)
    assert signers.signed(signers.corrected(order, lab), lab).kind == "corrected"
    amended = signers.signed(signers.corrected(order, lab, "More words.", "amended"), lab)
    assert amended.kind == "amended" and "AMENDED REPORT" in document.compose(amended).banners
    assert [one.state for one in order.reports.filter(released_at__isnull=False).order_by("number")] == [
        "superseded", "superseded", "released",
    ]  # fmt: skip


@pytest.mark.parametrize("role", [Role.ANALYST, Role.ACCESSIONER, Role.REQUESTER])
def test_others_correct_nothing(order, lab, role):
    standing = signers.issued(order, lab)
    with pytest.raises(NotPermitted):
        correcting.correct(
            order=order, actor=lab.actor(role), kind="corrected", reason="no", text="", edit=0, standing=standing.pk
        )  # fmt: skip


def test_a_stale_correction_and_one_of_nothing_are_refused(order, lab):
    director = lab.actor(Role.DIRECTOR)
    given = {"order": order, "actor": director, "kind": "corrected", "reason": "wrong", "text": "x", "edit": 0}
    with pytest.raises(correcting.NothingStands):
        correcting.correct(**given, standing=order.pk)
    first = signers.issued(order, lab)
    signers.signed(signers.corrected(order, lab), lab)
    with pytest.raises(Stale, match="Another version was issued"):
        correcting.correct(**given, standing=first.pk)
    last = interpreting.last(order)
    with pytest.raises(Stale, match="changed the interpretation"):
        correcting.correct(**given, standing=release.released_version(order).pk)
    assert interpreting.last(order) == last


def test_superseded_versions_stay_readable_by_who_may_read_the_report_and_say_so(order, lab):
    first = signers.issued(order, lab)
    pdf = issuing.issued_pdf(first)
    second = signers.signed(signers.corrected(order, lab), lab)
    requester = logged_in(Role.REQUESTER, order.ordering_organisation)
    page = requester.get(reverse("report-version", args=[order.pk, first.number])).content.decode()
    assert "SUPERSEDED" in page and reverse("report-version", args=[order.pk, second.number]) in page
    answer = requester.get(reverse("report-version-pdf", args=[order.pk, first.number]))
    assert answer.content == pdf and "superseded.pdf" in answer["Content-Disposition"]
    assert "CORRECTED REPORT" in requester.get(reverse("report-page", args=[order.pk])).content.decode()


def test_an_issued_report_of_the_wrong_patient_is_recalled_in_all_its_versions(order, lab):
    first = signers.issued(order, lab)
    second = signers.signed(signers.corrected(order, lab), lab)
    fresh = Order.objects.get(pk=order.pk)
    wrong_patient.declare(order=fresh, words="tubes were swapped", actor=lab.actor(Role.REVIEWER), expected_edits=fresh.edits)
    requester = make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    for version in (first, second):
        version.refresh_from_db()
        version.order.refresh_from_db()
        assert version.state == "entered_in_error" and not release.readable(requester, version)
        assert "ENTERED IN ERROR" in document.compose(version).banners[0]
    assert not release.may_see_scores(requester, fresh)
