"""As helicase_app with raw SQL: what the code refuses, the database refuses. There is no setting that opens it."""

import uuid
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from accounts.models import StepUp
from accounts.roles import TABLE, Role, Verb
from foundation import clock
from reports.content import digest
from reports.models import ReportVersion, Signature
from tests.forging import forge
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db

IGNORE = (
    "SET LOCAL pgtrigger.ignore = 'reports.ReportVersion:all,reports.Signature:all'",
    "SET LOCAL session_replication_role = 'replica'",
    "ALTER TABLE reports_reportversion DISABLE TRIGGER ALL",
    "ALTER TABLE reports_signature DISABLE TRIGGER ALL",
)


def refused(sql: str, *values: object, says: str = ".") -> None:
    with pytest.raises(DatabaseError, match=says), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@pytest.fixture
def order():
    return signers.scored(signers=2)


@pytest.fixture
def lab(order):
    return signers.laboratory_of(order)


@pytest.fixture
def waits(order, lab):
    return signers.approved(order, lab)


@pytest.fixture
def issued(order, lab):
    return signers.issued(order, lab)


def insert(kind: str, version: ReportVersion, says: str) -> None:
    """A row like this one of another kind, its content and hash made to fit."""
    content = version.content.replace(f'"kind":"{version.kind}"', f'"kind":"{kind}"')
    assert content != version.content
    given = cases.copied(version, kind=kind, number=90, content=content, content_sha256=digest(content))
    with pytest.raises(DatabaseError, match=says), transaction.atomic():
        ReportVersion.objects.create(**given, reason="because", supersedes_id=version.pk)


def test_a_final_is_not_inserted_without_a_validation(order, lab):
    insert("final", signers.seen(order, lab), "no standing validation permits")


@pytest.mark.parametrize("kind", ["corrected", "amended"])
def test_nor_is_a_correction(issued, kind):
    insert(kind, issued, "no standing validation permits")


def test_nothing_is_inserted_as_issued_or_with_a_hash_of_other_content(order, lab):
    draft = signers.seen(order, lab)
    given = {**cases.copied(draft, number=9), "released_at": clock.now(), "kind": "study"}
    with pytest.raises(DatabaseError, match="not made as an issued one"), transaction.atomic():
        ReportVersion.objects.create(**given)
    with pytest.raises(DatabaseError, match="cannot begin as released"), transaction.atomic():
        ReportVersion.objects.create(**cases.copied(draft, number=9), state="released")
    with pytest.raises(DatabaseError, match="not that of its content"), transaction.atomic():
        ReportVersion.objects.create(**cases.copied(draft, number=9, content_sha256="0" * 64))
    with pytest.raises(DatabaseError, match="says another kind"), transaction.atomic():
        ReportVersion.objects.create(**cases.copied(draft, number=9, kind="study"))


def test_a_version_is_not_released_before_all_have_signed(waits, lab):
    release = "UPDATE reports_reportversion SET state = 'released', released_at = now() WHERE id = %s"
    refused(release, waits.pk, says="a signature is missing")
    signers.sign(waits, lab.actor(Role.REVIEWER))
    refused(release, waits.pk, says="a signature is missing")
    refused("UPDATE reports_reportversion SET released_at = now() WHERE id = %s", waits.pk, says="set by its issue")


@pytest.mark.parametrize("setting", IGNORE)
def test_no_setting_switches_it_off(waits, setting):
    with connection.cursor() as cursor:
        try:
            with transaction.atomic():
                cursor.execute(setting)
        except DatabaseError:
            return  # not permitted to it at all
        refused("UPDATE reports_reportversion SET state = 'released', released_at = now() WHERE id = %s", waits.pk)
        refused("UPDATE reports_reportversion SET kind = 'final' WHERE id = %s", waits.pk)


@pytest.mark.parametrize("table", ["reports_signature", "reports_reportversion", "reports_review", "accounts_stepup"])
def test_nothing_of_it_is_deleted_or_truncated(issued, table):
    refused(f"DELETE FROM {table}", says="permission denied|insert-only|kept")  # noqa: S608 -- a fixed list of names
    refused(f"TRUNCATE {table} CASCADE", says="permission denied|insert-only")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE reports_signature SET printed_name = 'Somebody Else'",
        "UPDATE reports_signature SET content_sha256 = repeat('0', 64)",
        "UPDATE reports_review SET decision = 'reject'",
        "UPDATE reports_interpretation SET text = 'other words'",
        "UPDATE reports_reportversion SET content = '{}'",
        "UPDATE reports_reportversion SET kind = 'final'",
        "UPDATE reports_reportversion SET document_sha256 = repeat('0', 64)",
        "UPDATE reports_reportversion SET released_at = now() - interval '1 day'",
        "UPDATE reports_reportversion SET state = 'superseded' WHERE state = 'released'",
        "UPDATE reports_reportversion SET state = 'draft' WHERE state = 'released'",
        "UPDATE accounts_stepup SET used_at = NULL",
        "UPDATE accounts_stepup SET object_id = 'another'",
    ],
)
def test_nothing_of_what_was_issued_is_changed(order, lab, sql):
    signers.interpret(order, lab)
    signers.issued(order, lab)
    refused(sql)


def a_signature(version: ReportVersion, signer, meaning: str, **changes: object) -> None:
    values = {
        "organisation_id": version.performing_laboratory_id, "report_version": version, "signer": signer, "meaning": meaning,
        "printed_name": signer.name, "content_sha256": version.content_sha256, "method": "password", "at": clock.now(), **changes,
    }  # fmt: skip
    values.setdefault("step_up_id", uuid.uuid4())
    with transaction.atomic():
        Signature.objects.create(**values)


def test_a_signature_is_refused_of_the_same_person_of_another_content_and_without_a_proof(waits, lab):
    reviewer, director = lab.user(Role.REVIEWER), lab.user(Role.DIRECTOR)
    with pytest.raises(DatabaseError, match="just proven"):
        a_signature(waits, reviewer, "review")
    fresh = signers.proof(waits, lab.actor(Role.REVIEWER))
    with pytest.raises(DatabaseError, match="over the content"):
        a_signature(waits, reviewer, "review", content_sha256="0" * 64, step_up_id=fresh.pk)
    with pytest.raises(DatabaseError, match="just proven"):
        a_signature(waits, director, "review", step_up_id=fresh.pk)  # another's proof
    with pytest.raises(DatabaseError, match="own name"):
        a_signature(waits, reviewer, "review", step_up_id=fresh.pk, printed_name="Dr Somebody")
    with pytest.raises(DatabaseError, match="before the approval"):
        a_signature(waits, reviewer, "approval", step_up_id=fresh.pk)
    own, again = (signers.proof(waits, lab.actor(Role.DIRECTOR)) for _ in range(2))
    a_signature(waits, director, "review", step_up_id=own.pk)
    with pytest.raises(DatabaseError, match="one_signature_per_person"):
        a_signature(waits, director, "approval", step_up_id=again.pk)
    with pytest.raises(DatabaseError, match="just proven"):
        a_signature(waits, director, "approval", step_up_id=own.pk)  # used


def test_a_signature_is_of_now_whatever_the_row_says(waits, lab):
    reviewer, began, past = lab.user(Role.REVIEWER), timezone.now(), clock.now() - timedelta(days=30)
    proof = StepUp(pk=uuid.uuid4(), organisation_id=waits.performing_laboratory_id, user=reviewer, at=past, method="password",
                   object_type="reports.reportversion", object_id=str(waits.pk), content_sha256=waits.content_sha256)  # fmt: skip
    proof.used_at = past
    with pytest.raises(DatabaseError, match="begins unused"), transaction.atomic():
        proof.save(force_insert=True)
    proof.used_at = None
    proof.save(force_insert=True)
    a_signature(waits, reviewer, "review", step_up_id=proof.pk, at=past + timedelta(minutes=1))
    proof.refresh_from_db()
    times = [proof.at, Signature.objects.get().at, proof.used_at]
    assert began < times[0] < times[1] < times[2] < began + timedelta(minutes=1)


def test_postgres_knows_by_which_roles_reports_are_signed(order, lab):
    verbs = {("review", 2): Verb.SIGN_1, ("approval", 2): Verb.SIGN_2, ("approval", 1): Verb.SIGN_1}
    verbs[("preliminary", 1)] = Verb.RELEASE_PRELIMINARY
    for (meaning, many), verb in verbs.items():
        with connection.cursor() as cursor:
            cursor.execute("SELECT reports_signers(%s, %s)", [meaning, many])
            assert set(cursor.fetchone()[0]) == {role for role in Role if verb in TABLE[role]}
    waits = signers.approved(order, lab)
    fresh = signers.proof(waits, lab.actor(Role.ANALYST))
    with pytest.raises(DatabaseError, match="whose role includes it"):
        a_signature(waits, lab.user(Role.ANALYST), "review", step_up_id=fresh.pk)


def test_the_author_signs_nothing_and_a_draft_takes_no_signature(order, lab):
    signers.interpret(order, lab, role=Role.REVIEWER)
    draft = signers.seen(order, lab)
    with pytest.raises(DatabaseError, match="does not wait for signatures"):
        a_signature(draft, lab.user(Role.REVIEWER), "review")
    waits = signers.approved(order, lab)
    with pytest.raises(DatabaseError, match="the author does not sign"):
        a_signature(waits, lab.user(Role.REVIEWER), "review", step_up_id=signers.proof(waits, lab.actor(Role.REVIEWER)).pk)


def test_who_has_left_signs_nothing(waits, lab):
    fresh = signers.proof(waits, lab.actor(Role.REVIEWER))
    lab.user(Role.REVIEWER).memberships.update(ended_at=clock.now())
    with pytest.raises(DatabaseError, match="a person of the laboratory"):
        a_signature(waits, lab.user(Role.REVIEWER), "review", step_up_id=fresh.pk)


def test_a_validation_is_approved_by_a_director_who_did_not_propose_it():
    order = signers.scored(use="clinical")
    lab = signers.laboratory_of(order)
    signers.Deployment.objects.filter(pk=order.test_version.deployment_id, fingerprint="").update(
        fingerprint="f" * 64, golden="g" * 64
    )
    test = signers.TestVersion.objects.get(pk=order.test_version_id)
    record = signers.validation.propose(actor=lab.actor(Role.DIRECTOR), test_version=test, statement="Isolates.")
    approve = "UPDATE registry_validationrecord SET state = 'approved', decided_by_id = %s, decided_at = now() WHERE id = %s"
    about = signers.validation.about(record)
    for actor in (lab.actor(Role.DIRECTOR), lab.actor(Role.REVIEWER), lab.actor(Role.DIRECTOR, "another")):
        refused(approve, actor.id, record.pk, says="has not just proven who he is")
        proof = signers.step_up.prove(actor=actor, about=about, given=signers.PASSWORD)
        refused(approve, actor.id, record.pk, says="has not just proven who he is")  # and not used it for this
        if actor.name.endswith("another"):
            break
        signers.step_up.spend(proof, actor=actor, about=about)
    refused(approve, lab.user(Role.DIRECTOR).pk, record.pk, says="validation_approved_by_another")
    refused(approve, lab.user(Role.REVIEWER).pk, record.pk, says="a director of the laboratory")
    refused("UPDATE registry_validationrecord SET environment = repeat('0', 64)", says="permission denied")
    refused("DELETE FROM registry_validationrecord")


def test_an_order_is_not_reported_before_a_report_of_it_is_issued(waits, lab):
    report = "UPDATE orders_order SET state = 'reported', ended_at = now() WHERE id = %s"
    refused(report, waits.order_id, says="no report of this order is issued")
    order = signers.scored(priority="stat", signers=2)
    theirs = signers.laboratory_of(order)
    given = {"order": order, "actor": theirs.actor(Role.REVIEWER), "seen": signers.seen(order, theirs).pk}
    signers.sign(signers.reviewing.preliminary(**given), theirs.actor(Role.REVIEWER))
    refused(report, order.pk, says="no report of this order is issued")  # a preliminary one is none
    assert signers.signed(waits, lab).order.state == "reported"


def test_a_preliminary_report_is_of_a_stat_order(order, lab):
    insert("preliminary", signers.seen(order, lab), "a preliminary report is of a STAT order")
    stat = signers.scored(priority="stat")
    theirs = signers.laboratory_of(stat)
    actor, seen = theirs.actor(Role.REVIEWER), signers.seen(stat, theirs).pk
    version = signers.reviewing.preliminary(order=stat, actor=actor, seen=seen)
    a_signature(version, theirs.user(Role.REVIEWER), "preliminary", step_up_id=signers.proof(version, actor).pk)
    forge(stat, priority="routine", rank=3)
    release = "UPDATE reports_reportversion SET state = 'released', released_at = now() WHERE id = %s"
    refused(release, version.pk, says="a preliminary report is of a STAT order")


def test_a_run_of_other_bits_than_were_validated_is_never_final():
    order = signers.scored(use="clinical")
    lab = signers.laboratory_of(order)
    signers.Deployment.objects.filter(pk=order.test_version.deployment_id, fingerprint="").update(
        fingerprint="e" * 64, golden="g" * 64
    )  # what the results of `cases` were not made with
    signers.validate(order.test_version, lab)
    with pytest.raises(signers.reviewing.NotValidated):
        signers.approved(order, lab)
