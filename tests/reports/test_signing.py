"""From approval to issue: who signs what, in which order, with a fresh proof; and what stands afterwards."""

import hashlib
from datetime import timedelta
from uuid import uuid4

import pytest

from accounts import step_up
from accounts.models import StepUp
from accounts.roles import Role
from audit.models import Event
from foundation.errors import NotPermitted, Stale
from orders.models import Specimen
from reports import document, interpreting, issuing, release, reviewing, services, signing
from reports.content import parse
from reports.models import Meaning, ReportVersion, Signature
from tests.factories import PASSWORD, make_actor
from tests.forging import forge, forging
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db


@pytest.fixture
def order():
    return signers.scored(signers=2)


@pytest.fixture
def lab(order):
    return signers.laboratory_of(order)


def test_two_people_sign_and_the_report_is_issued_once_with_its_document(order, lab):
    version = signers.approved(order, lab)
    signers.sign(version, lab.actor(Role.REVIEWER))
    assert cases.read(order).state == "awaiting_second_review"
    assert not release.released_version(order)
    signers.sign(version, lab.actor(Role.DIRECTOR))
    version.refresh_from_db()
    assert (version.state, version.kind, cases.read(order).state) == ("released", "study", "reported")
    event = Event.objects.get(action="report.issued", object_id=str(version.pk))
    stored = issuing.issued_pdf(version)
    assert event.facts["document_sha256"] == version.document_sha256 == hashlib.sha256(stored).hexdigest()
    assert event.facts["content_sha256"] == hashlib.sha256(version.content.encode()).hexdigest()


def test_both_signatures_verify_against_the_content_and_name_people_meanings_and_method(order, lab):
    version = signers.issued(order, lab)
    rows = list(version.signatures.order_by("at").values_list("meaning", "printed_name", "method", "content_sha256"))
    digest = hashlib.sha256(version.content.encode()).hexdigest()
    assert rows == [("review", "Reviewer", "password", digest), ("approval", "Laboratory director", "password", digest)]
    printed = document.compose(version).signatures.rows
    assert [row[0] for row in printed] == ["Reviewer", "Laboratory director"] and all(row[2].endswith("UTC") for row in printed)


def test_the_same_person_never_gives_both(order, lab):
    version = signers.approved(order, lab)
    director = lab.actor(Role.DIRECTOR)
    signers.sign(version, director)
    with pytest.raises(NotPermitted, match="signed already"):
        signers.sign(version, director, Meaning.APPROVAL)


def test_a_reviewer_does_not_approve_where_two_sign_and_nobody_signs_out_of_turn(order, lab):
    version = signers.approved(order, lab)
    with pytest.raises(NotPermitted, match="before the approval"):
        signers.sign(version, lab.actor(Role.DIRECTOR), Meaning.APPROVAL)
    signers.sign(version, lab.actor(Role.REVIEWER))
    with pytest.raises(NotPermitted, match="role does not include"):
        signers.sign(version, lab.actor(Role.REVIEWER, "second"), Meaning.APPROVAL)


def test_who_wrote_the_interpretation_signs_nothing_where_two_do(order, lab):
    signers.interpret(order, lab, role=Role.REVIEWER)
    version = signers.approved(order, lab)
    with pytest.raises(NotPermitted, match="You wrote the interpretation"):
        signers.sign(version, lab.actor(Role.REVIEWER), Meaning.REVIEW)
    signers.sign(version, lab.actor(Role.REVIEWER, "second"))


def test_where_one_signs_the_author_may_and_it_is_issued_at_once():
    order = signers.scored()
    lab = signers.laboratory_of(order)
    signers.interpret(order, lab, role=Role.REVIEWER)
    version = signers.issued(order, lab)
    assert (version.state, [one.meaning for one in version.signatures.all()]) == ("released", ["approval"])


@pytest.mark.parametrize("role", [Role.ANALYST, Role.ACCESSIONER, Role.REQUESTER, Role.AUDITOR, Role.ADMINISTRATOR])
def test_nobody_else_reviews_or_signs(order, lab, role):
    version = signers.approved(order, lab)
    with pytest.raises(NotPermitted):
        signers.sign(version, lab.actor(role), Meaning.REVIEW)
    with pytest.raises(NotPermitted):
        reviewing.approve(order=order, actor=lab.actor(role), seen=version.pk)


def test_a_director_of_another_laboratory_signs_nothing(order, lab):
    version = signers.approved(order, lab)
    stranger = make_actor(role=Role.DIRECTOR, organisation=order.ordering_organisation)
    with pytest.raises(NotPermitted):
        signers.sign(version, stranger, Meaning.REVIEW)


def test_a_wrong_password_signs_nothing_leaves_an_event_and_five_of_them_make_him_wait(order, lab):
    version, reviewer = signers.approved(order, lab), lab.actor(Role.REVIEWER)
    for _ in range(step_up.TRIES):
        with pytest.raises(step_up.NotProven):
            step_up.prove(actor=reviewer, about=signing.about(version), given="wrong")
    assert Event.objects.filter(action="step_up.refused").count() == step_up.TRIES
    with pytest.raises(step_up.TooManyTries):
        step_up.prove(actor=reviewer, about=signing.about(version), given=PASSWORD)
    assert not Signature.objects.exists()


def test_facts_that_changed_after_approval_discard_what_waits_and_its_signatures(order, lab):
    version = signers.approved(order, lab)
    signers.sign(version, lab.actor(Role.REVIEWER))
    Specimen.objects.filter(pk=order.specimen_id).update(condition="haemolysed")
    with pytest.raises(signing.FactsChanged):
        signers.sign(version, lab.actor(Role.DIRECTOR), Meaning.APPROVAL)
    version.refresh_from_db()
    assert version.state == "discarded" and not release.released_version(order)
    again = signers.issued(cases.read(order), lab)
    assert again.state == "released" and "Haemolysed" in again.content


def test_an_edit_of_the_interpretation_discards_what_waits(order, lab):
    version = signers.approved(order, lab)
    signers.interpret(order, lab, "Other words.")
    version.refresh_from_db()
    assert version.state == "discarded"
    with pytest.raises(Stale, match="Analyst changed the interpretation"):
        interpreting.write(order=order, actor=lab.actor(Role.DIRECTOR), text="Mine.", expected=0)


def test_an_order_on_hold_is_not_issued(lab):
    order = signers.scored()
    lab = signers.laboratory_of(order)
    version = signers.approved(order, lab)
    forge(order, hold_reason="hold.specimen", hold_agreed=True)
    with pytest.raises(issuing.NotReleasable, match="on hold"):
        signers.sign(version, lab.actor(Role.REVIEWER))
    assert not Signature.objects.exists() and StepUp.objects.get().used_at is None


def test_a_clinical_test_is_final_only_under_a_standing_validation():
    order = signers.scored(use="clinical")
    lab = signers.laboratory_of(order)
    with pytest.raises(reviewing.NotValidated):
        signers.approved(order, lab)
    signers.validate(order.test_version, lab)
    version = signers.issued(cases.read(order), lab)
    assert (version.kind, version.state, parse(version.content).test.validated) == ("final", "released", True)
    assert "DEMONSTRATION" not in str(document.compose(version).banners)


def test_a_validation_that_was_replaced_discards_what_waits_under_the_former_one():
    order = signers.scored(use="clinical")
    lab = signers.laboratory_of(order)
    signers.validate(order.test_version, lab)
    version, director = signers.approved(order, lab), lab.actor(Role.DIRECTOR)
    signers.validate(order.test_version, lab)
    with pytest.raises(signing.FactsChanged):
        signers.sign(version, director)
    assert signers.issued(order, lab).kind == "final"


def test_a_validation_that_is_suspended_stops_what_waits_and_leaves_what_was_issued():
    first = signers.scored(use="clinical")
    lab = signers.laboratory_of(first)
    record = signers.validate(first.test_version, lab)
    issued = signers.issued(first, lab)
    record.refresh_from_db()
    intake = signers.make_ready_intake(test_version=first.test_version, organisation=first.ordering_organisation, variants=2)
    second = cases.scored_order(intake=intake, variants=2)
    waits = signers.approved(second, lab)
    signers.validation.suspend(actor=lab.actor(Role.MODEL_STEWARD), record=record, words="Other kernels.")
    with pytest.raises(signing.FactsChanged):
        signers.sign(waits, lab.actor(Role.REVIEWER), Meaning.APPROVAL)
    assert release.released_version(first) == issued


def test_the_laboratory_reads_what_waits_and_the_requester_nothing(order, lab):
    waits = signers.approved(order, lab)
    signers.sign(waits, lab.actor(Role.REVIEWER))
    order = cases.read(order)
    assert services.show(actor=lab.actor(Role.ANALYST), order=order).version == waits
    assert document.compose(waits).banners[0] == "NOT SIGNED YET"
    requester = make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    assert services.show(actor=requester, order=order).version is None
    assert not release.may_see_scores(requester, order)


def test_a_document_that_the_store_no_longer_holds_as_issued_is_not_given_out(order, lab):
    version = signers.issued(order, lab)
    issuing.storage.path_of(version.document_sha256).write_bytes(b"%PDF-1.7 another")
    with pytest.raises(issuing.Damaged):
        issuing.as_pdf(version)


def test_a_proof_is_too_old_after_two_minutes(order, lab):
    version, reviewer = signers.approved(order, lab), lab.actor(Role.REVIEWER)
    proof = signers.proof(version, reviewer)
    proof.pk, proof.at = uuid4(), proof.at - timedelta(seconds=121)
    with forging():
        proof.save(force_insert=True)
    with pytest.raises(Exception, match="not just proven"):
        signing.sign(version=version, meaning=Meaning.REVIEW, actor=reviewer, proof=proof)
    assert not ReportVersion.objects.filter(state="released").exists()
