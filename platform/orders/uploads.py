"""Take in a file: store it, and have a platform job check it before anything is ordered on it."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused
from foundation.reasons import Reason
from orders.machines import INTAKE
from orders.models import Intake
from outbox import services as outbox
from registry.models import TestVersion
from storage import services as storage
from storage.models import StoredFile

TOPIC = "intake.check"


def start_intake(
    *,
    actor: Actor,
    test_version: TestVersion,
    ordering_organisation_id: UUID,
    chunks: Iterable[bytes],
    filename: str,
    sample: str = "",
) -> Intake:
    """Store the bytes and ask for their check. Raises `NotPermitted`, or `TooLarge` (nothing is kept then)."""
    require(actor, Verb.PLACE, ordering_organisation_id)
    written = storage.write(chunks=chunks, limit=settings.UPLOAD_LIMIT)  # before the transaction: an upload may take minutes
    return take_in(
        actor=actor,
        test_version=test_version,
        ordering_organisation_id=ordering_organisation_id,
        written=written,
        filename=filename,
        sample=sample,
    )


def take_in(
    *,
    actor: Actor,
    test_version: TestVersion,
    ordering_organisation_id: UUID,
    written: storage.Written,
    filename: str,
    sample: str = "",
) -> Intake:
    """Ask for the check of bytes that are in the store. Raises `NotPermitted`."""
    require(actor, Verb.PLACE, ordering_organisation_id)
    name = filename.replace("\\", "/").rsplit("/", 1)[-1][:255] or "pasted.txt"
    with transaction.atomic():
        stored = storage.record(written=written, organisation_id=ordering_organisation_id, kind="upload", name=name)
        return _ask(actor, test_version, ordering_organisation_id, stored, name, sample)


def of_stored_file(
    *, actor: Actor, test_version: TestVersion, ordering_organisation_id: UUID, stored: StoredFile, filename: str, sample: str
) -> Intake:
    """An upload of a file that is in the store already, for whoever checks it himself; inside the caller's transaction."""
    require(actor, Verb.PLACE, ordering_organisation_id)
    return _received(actor, test_version, ordering_organisation_id, stored, filename[:255], sample)


def choose_sample(*, actor: Actor, intake: Intake, sample: str) -> Intake:
    """Check the same file again for one of its samples: a new intake, the old one stays as it was."""
    require(actor, Verb.PLACE, intake.ordering_organisation_id)
    if sample not in intake.samples:
        raise Refused(f"The file has no sample named {sample}.", code="vcf.sample-unknown")
    with transaction.atomic():
        return _ask(actor, intake.test_version, intake.ordering_organisation_id, intake.file, intake.filename, sample)


def check_again(*, actor: Actor, intake: Intake, test_version: TestVersion) -> Intake:
    """Check the stored file of an upload for another order: a new intake, the one that an order rests on stays as it was."""
    require(actor, Verb.PLACE, intake.ordering_organisation_id)
    with transaction.atomic():
        return _ask(actor, test_version, intake.ordering_organisation_id, intake.file, intake.filename, intake.sample)


def withdraw(*, actor: Actor, intake: Intake) -> None:
    """Remove an upload whose check has not ended: the check stops, and what it has written goes.

    Raises `Refused` where it has ended: then the verdict stays, and without an order nothing comes of it.
    """
    require(actor, Verb.PLACE, intake.ordering_organisation_id)
    with transaction.atomic():
        locked = Intake.objects.select_for_update().get(pk=intake.pk)
        if locked.state == "withdrawn":
            return
        if locked.state not in ("waiting", "checking"):
            raise Refused("The check has ended already. Nothing is ordered on the file unless you do it.", code="intake.ended")
        audit.transition(INTAKE, locked, to="withdrawn", actor=actor, reason=str(Reason.INTAKE_WITHDRAWN))


def _ask(actor: Actor, test: TestVersion, organisation_id: UUID, stored: StoredFile, name: str, sample: str) -> Intake:
    intake = _received(actor, test, organisation_id, stored, name, sample)
    ask_for_check(intake)
    return intake


def received_all(*, actor: Actor, intakes: Sequence[Intake]) -> None:
    """Keep several uploads, each with its event, for whoever checks them himself; inside the caller's transaction."""
    Intake.objects.bulk_create(intakes)
    audit.record_all([_event(actor, intake) for intake in intakes])


def _received(actor: Actor, test: TestVersion, organisation_id: UUID, stored: StoredFile, name: str, sample: str) -> Intake:
    intake = unchecked(actor, test, organisation_id, stored, name, sample)
    received_all(actor=actor, intakes=[intake])
    return intake


def unchecked(actor: Actor, test: TestVersion, organisation_id: UUID, stored: StoredFile, name: str, sample: str) -> Intake:
    """An upload of a stored file, not kept yet."""
    return Intake(
        ordering_organisation_id=organisation_id,
        performing_laboratory_id=test.definition.laboratory_id,
        test_version=test,
        reference_digest=test.reference.digest,
        file=stored,
        filename=name,
        sample=sample,
        created_by_id=actor.id,
        created_at=clock.now(),
    )


def _event(actor: Actor, intake: Intake) -> Event:
    return audit.event(
        actor=actor,
        action="intake.received",
        obj=intake,
        organisation_id=intake.performing_laboratory_id,
        facts={"file": intake.file.sha256, "bytes": intake.file.size},
    )


def ask_for_check(intake: Intake) -> None:
    """Post the message that has a platform worker check this upload, inside the caller's transaction."""
    payload = {"intake": str(intake.pk), "large": intake.file.size > settings.INTAKE_LARGE}
    outbox.post(topic=TOPIC, payload=payload, organisation_id=intake.ordering_organisation_id)
