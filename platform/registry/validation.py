"""Validation for clinical use: who proposed which components, which director approved them, and why it no longer holds."""

import hashlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from accounts import step_up
from accounts.models import StepUp
from accounts.roles import Verb
from accounts.services import require
from accounts.step_up import About
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, Refused, Stale
from registry.machines import VALIDATION
from registry.models import IntendedUse, TestVersion, ValidationRecord

LONGEST = 4000  # characters of the statement
WORDS = 500
CHANGED = "validation.component-changed"


class Incomplete(Refused):
    """Say for what use the test version is meant, and what it was shown with."""


class NotPossible(Refused):
    """Only a test version for clinical use whose deployment an engine has loaded can be validated, once at a time."""


class SamePerson(Refused):
    """Whoever proposed a validation does not approve it: another director does."""


def propose(*, actor: Actor, test_version: TestVersion, statement: str) -> ValidationRecord:
    """Put the components of a test version, as they are now, before the directors. Raises `Incomplete` and `NotPossible`."""
    laboratory, deployment = test_version.definition.laboratory, test_version.deployment
    require(actor, Verb.PROPOSE_VALIDATION, laboratory.pk)
    said = statement.strip()
    if not said or len(said) > LONGEST:
        raise Incomplete(None if not said else f"The statement has more than {LONGEST:,} characters.", code="validation.incomplete")
    if test_version.intended_use != IntendedUse.CLINICAL or not deployment.fingerprint or actor.id is None:
        raise NotPossible(code="validation.not-possible")
    try:
        with transaction.atomic():
            made = ValidationRecord.objects.create(
                laboratory=laboratory, test_version=test_version, model_version=deployment.model_version, deployment=deployment,
                precision=deployment.precision, reference_digest=test_version.reference.digest,
                environment=deployment.fingerprint, statement=said, proposed_by_id=actor.id, proposed_at=clock.now(),
            )  # fmt: skip
            facts = {"test": str(test_version), "sha256": digest(made)}
            audit.record(actor=actor, action="validation.proposed", obj=made, organisation_id=laboratory.pk, facts=facts)
    except IntegrityError as error:
        raise NotPossible("A validation of this test version waits for a director already.", code="validation.waits") from error
    return made


def digest(record: ValidationRecord) -> str:
    """SHA-256 of what a director approves: every component and the statement."""
    said = (
        record.test_version_id, record.model_version_id, record.deployment_id, record.precision, record.reference_digest,
        record.environment, record.statement,
    )  # fmt: skip
    return hashlib.sha256("\n".join(map(str, said)).encode()).hexdigest()


def about(record: ValidationRecord) -> About:
    """What a director proves himself for."""
    return About(record, digest(record), record.laboratory_id)


def approve(*, actor: Actor, record: ValidationRecord, proof: StepUp) -> None:
    """A director approves; what stood before is suspended by it. Raises `SamePerson`, `NotProven`, `Stale`."""
    require(actor, Verb.APPROVE_VALIDATION, record.laboratory_id)
    if record.proposed_by_id == actor.id:
        raise SamePerson(code="validation.same-person")
    with transaction.atomic():
        step_up.spend(proof, actor=actor, about=about(record))
        for old in _locked(test_version_id=record.test_version_id, state="approved"):
            _suspend(old, actor, "Another validation of this test version was approved.", "validation.replaced")
        changes: dict[str, Any] = {"decided_by_id": actor.id, "decided_at": clock.now()}
        audit.transition(VALIDATION, record, to="approved", actor=actor, reason="validation.approved", **changes)


def decline(*, actor: Actor, record: ValidationRecord, words: str) -> None:
    """A director does not approve, and says why."""
    require(actor, Verb.APPROVE_VALIDATION, record.laboratory_id)
    changes: dict[str, Any] = {"decided_by_id": actor.id, "decided_at": clock.now(), "words": _said(words)}
    with transaction.atomic():
        audit.transition(VALIDATION, record, to="declined", actor=actor, reason="validation.declined", **changes)


def suspend(*, actor: Actor, record: ValidationRecord, words: str) -> None:
    """A steward or a director suspends a standing validation, at once and for good."""
    require(actor, Verb.PROPOSE_VALIDATION, record.laboratory_id)
    said = _said(words)
    with transaction.atomic():
        _suspend(record, actor, said, "validation.suspended")


def component_changed(*, actor: Actor, deployment: str, words: str) -> None:
    """A component of what runs is no longer what was validated: every standing validation of it is suspended."""
    with transaction.atomic():
        for record in _locked(deployment_id=deployment, state="approved"):
            _suspend(record, actor, words[:WORDS], CHANGED)


def standing(actor: Actor) -> Sequence[ValidationRecord]:
    """The records this person may see, the latest first."""
    related = ("test_version__definition", "model_version", "proposed_by", "decided_by", "laboratory")
    return list(ValidationRecord.objects.for_actor(actor).select_related(*related).order_by("-proposed_at"))


def one(actor: Actor, pk: UUID) -> ValidationRecord:
    """One of them. Raises `NotFound`."""
    found = ValidationRecord.objects.for_actor(actor).filter(pk=pk).select_related("test_version__definition").first()
    if found is None:
        raise NotFound("There is no such validation record here.")
    return found


def candidates(actor: Actor) -> Sequence[TestVersion]:
    """The clinical test versions of his laboratories that no record stands or waits for."""
    mine = TestVersion.objects.filter(
        definition__laboratory_id__in=actor.organisations(Verb.PROPOSE_VALIDATION), intended_use=IntendedUse.CLINICAL, offered=True
    )
    open_ones = ValidationRecord.objects.filter(state__in=["proposed", "approved"]).values("test_version_id")
    return list(mine.exclude(pk__in=open_ones).select_related("definition", "deployment").order_by("definition__name", "-number"))


def _locked(**of: object) -> QuerySet[ValidationRecord]:
    return ValidationRecord.objects.select_for_update().filter(**of).order_by("pk")


def _suspend(record: ValidationRecord, actor: Actor, words: str, reason: str) -> None:
    if record.state != "approved":
        raise Stale(code="state.stale")
    changes: dict[str, Any] = {"suspended_at": clock.now(), "suspended_by": actor.name[:200], "words": words}
    audit.transition(VALIDATION, record, to="suspended", actor=actor, reason=reason, **changes)


def _said(words: str) -> str:
    said = " ".join(words.split())
    if not said or len(said) > WORDS:
        raise Incomplete(f"Say why, in at most {WORDS} characters.", code="validation.incomplete")
    return said
