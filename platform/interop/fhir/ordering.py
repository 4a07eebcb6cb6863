"""Orders that were asked for by FHIR: taken in with their file, placed as soon as it is checked, parked where a person is needed.

What is taken in is committed before it is answered. Until the file is checked there is no order, only what was asked; a sweep goes
on with it, whatever process died in between. The same content under the same number is the same order; other content is a conflict,
and is parked when it is STAT. What is parked may be sent again, mended: nothing has come of it yet.
"""

from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from pydantic import TypeAdapter

from accounts.models import User
from accounts.roles import Verb
from accounts.services import actor_for, require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import HelicaseError, NotPermitted
from foundation.reasons import Reason
from interop.fhir.asking import Asked
from interop.machines import FHIR_ORDER
from interop.models import FhirOrder
from orders import services, uploads, urgency
from orders.errors import InvalidOrder, OrderConflict
from orders.models import Intake, Order
from orders.remarks import LONG, remark
from orders.requests import OrderRequest
from orders.validation import validate_said
from registry.priority import PRIORITY_RANK, Priority
from storage import services as storage

log = structlog.get_logger(__name__)

REQUEST = TypeAdapter(OrderRequest)
ACTOR = process("FHIR intake")
MOST_TRIES = 3
LOOKS = 4  # under one number several may come at one moment, and each of them be kept


@dataclass(frozen=True)
class Taken:
    """What became of a request: one of the two, and whether it is new."""

    asked: FhirOrder | None
    order: Order | None
    created: bool


def take(*, actor: Actor, asked: Asked, unless_exists: bool = False) -> Taken:
    """Keep an order that is asked for, and place it at once where its file is checked already. One transaction.

    `unless_exists`: what stands under the number already is the answer, whatever it says; except that STAT is never lost by that.
    Raises `NotPermitted`, `InvalidOrder` (field by field), `OrderConflict`, or what the store raises.
    """
    require(actor, Verb.PLACE, asked.request.ordering_organisation_id)
    for _ in range(LOOKS):
        try:
            return _take(actor, asked, unless_exists)
        except IntegrityError:  # another under the same number was first: look again what that has become
            continue
    return _take(actor, asked, unless_exists)


def settle(pk: UUID) -> None:
    """Go on with what waits for its file: place it, or park it with a reason. Does nothing where there is nothing to do."""
    with transaction.atomic():
        row = _locked(pk)
        if row is not None and row.state == "waiting":
            _settle(row, _sender(row), wait=True)


def waiting() -> list[UUID]:
    """What a sweep has to go on with: the file has its verdict. The most urgent first."""
    ready = FhirOrder.objects.filter(state="waiting", intake__state__in=["ready", "refused", "withdrawn"])
    return list(ready.order_by("rank", "asked_at").values_list("pk", flat=True)[:100])


def failed(pk: UUID) -> None:
    """A fault of ours kept it from being placed; after three of them a person has to look."""
    with transaction.atomic():
        row = _locked(pk)
        if row is None or row.state != "waiting":
            return
        row.tries += 1
        if row.tries >= MOST_TRIES:
            _park(row, str(Reason.FHIR_CANNOT_PLACE), Reason.FHIR_CANNOT_PLACE.words, tries=row.tries)
        else:
            row.save(update_fields=["tries"])


def choose_sample(*, actor: Actor, asked: FhirOrder, sample: str, expected_version: int) -> None:
    """Say for a parked order which sample of its file is the specimen: the file is checked again for it.

    Raises `NotPermitted`, `Refused` for a sample that the file does not hold, or `Stale`.
    """
    require(actor, Verb.PLACE, asked.ordering_organisation_id)
    with transaction.atomic():
        row = cast(FhirOrder, _locked(asked.pk))
        intake = uploads.choose_sample(actor=actor, intake=row.intake, sample=sample)
        request = {**row.request, "sample_confirmed": sample}
        said: dict[str, Any] = {"intake": intake, "request": request, "code": "", "words": "", "changed_at": clock.now()}
        audit.transition(FHIR_ORDER, row, to="waiting", actor=actor, expected_version=expected_version, **said)


def close(*, actor: Actor, asked: FhirOrder, words: str, expected_version: int) -> None:
    """Nothing comes of it: a person says so, and why. Raises `NotPermitted`, `InvalidOrder` or `Stale`."""
    require(actor, Verb.CANCEL, asked.ordering_organisation_id, asked.performing_laboratory_id)
    why = remark(words, field="reason", most=LONG, missing="Say why nothing comes of this order.")
    with transaction.atomic():
        row = cast(FhirOrder, _locked(asked.pk))
        _close(row, actor, str(Reason.FHIR_CLOSED), why, expected_version=expected_version)


def _take(actor: Actor, asked: Asked, unless_exists: bool) -> Taken:
    found = _standing(asked)
    same = _same(found, asked)
    if same is None:
        same = _told_why(found, asked, actor)
    if same is None and unless_exists and asked.request.priority != Priority.STAT:
        same = found.anything()
    if same is not None:
        return same
    doubtful = _conflict(found, asked)
    validate_said(asked.request, actor=actor, laboratory_id=asked.test.definition.laboratory_id)
    written = storage.write(chunks=[asked.file], limit=settings.UPLOAD_LIMIT) if asked.file is not None else None
    with transaction.atomic():
        intake = asked.intake or uploads.take_in(
            actor=actor,
            test_version=asked.test,
            ordering_organisation_id=asked.request.ordering_organisation_id,
            written=cast(storage.Written, written),
            filename=asked.filename,
            sample=asked.request.sample_confirmed,
        )
        for mended in found.parked:
            _close(mended, actor, str(Reason.FHIR_REPLACED), Reason.FHIR_REPLACED.words)
        row = _create(actor, asked, intake, doubtful=doubtful)
        _settle(row, actor, wait=False)
    return Taken(row, row.order, created=True)


@dataclass(frozen=True)
class _Standing:
    """What stands under a placer number already."""

    asked: list[FhirOrder]  # what was sent under it and is not closed, doubtful ones too
    order: Order | None

    @property
    def parked(self) -> list[FhirOrder]:
        """What a mended request takes the place of."""
        return [row for row in self.asked if row.state == "parked"]

    def anything(self) -> Taken | None:
        """What the number stands for, whatever that says."""
        row = next((row for row in self.asked if not row.doubtful), None)
        return Taken(row, row.order if row else self.order, created=False) if row or self.order else None


def _standing(asked: Asked) -> _Standing:
    number = {
        "ordering_organisation_id": asked.request.ordering_organisation_id,
        "placer_system": asked.request.placer_system,
        "placer_number": asked.request.placer_number,
    }
    rows = FhirOrder.objects.exclude(state="closed").filter(**number).select_related("order", "intake__file")
    order = Order.objects.filter(conflicts_with=None, **number).select_related("intake__file", "intake__test_version").first()
    return _Standing(list(rows.order_by("asked_at")), order)


def _same(found: _Standing, asked: Asked) -> Taken | None:
    """What the very same request has come to before."""
    for row in found.asked:
        if row.content_hash == asked.digest:
            return Taken(row, row.order, created=False)
    order = found.order
    if order is not None and not any(row.order_id == order.pk for row in found.asked) and _says(order, asked):
        return Taken(None, order, created=False)
    return None


def _told_why(found: _Standing, asked: Asked, actor: Actor) -> Taken | None:
    """The STAT order that said the same but for its reason: it has that reason now, and stays the order that it is.

    Raises what `urgency.give_stat_reason` raises.
    """
    reason = remark(asked.request.stat_reason, field="stat_reason")
    earlier = asked.without_reason.digest if reason else ""
    row = next((row for row in found.asked if row.order is not None and row.content_hash == earlier), None)
    if row is None or row.order is None:
        return None
    if row.order.state in Order.OPEN and urgency.lacks_reason(row.order):
        urgency.give_stat_reason(order=row.order, reason=reason, actor=actor)
        row.order.refresh_from_db()
    return Taken(row, row.order, created=False) if row.order.stat_reason == reason else None


def _says(order: Order, asked: Asked) -> bool:
    """Whether an order that came by another door says the same."""
    intake = order.intake
    same = (asked.test.definition_id, asked.sha256) == (intake.test_version.definition_id, intake.file.sha256)
    return same and services.says(order, asked.on(intake), intake)


def _conflict(found: _Standing, asked: Asked) -> bool:
    """Whether the number stands for something else and this is kept in spite of it, since it is STAT. Raises `OrderConflict`."""
    others = [row for row in found.asked if row.state != "parked"]
    if found.order is None and not others:
        return False
    if asked.request.priority != Priority.STAT:
        named = found.order.accession if found.order else asked.request.placer_number
        raise OrderConflict(Reason.ORDER_CONFLICT.say(accession=named), code=str(Reason.ORDER_CONFLICT))
    return True


def _create(actor: Actor, asked: Asked, intake: Intake, *, doubtful: bool) -> FhirOrder:
    now, request = clock.now(), asked.on(intake)
    row: FhirOrder = FhirOrder.objects.create(
        ordering_organisation_id=request.ordering_organisation_id,
        performing_laboratory_id=intake.performing_laboratory_id,
        placer_system=request.placer_system,
        placer_number=request.placer_number,
        content_hash=asked.digest,
        doubtful=doubtful,
        priority=request.priority,
        rank=PRIORITY_RANK[request.priority],
        request=REQUEST.dump_python(request, mode="json"),
        said=asked.said,
        intake=intake,
        sender_id=cast(UUID, actor.id),
        token=actor.token,
        asked_at=now,
        changed_at=now,
    )
    facts = {"priority": row.priority, "intake": str(intake.pk), "doubtful": doubtful}
    audit.record(actor=actor, action="fhir.asked", obj=row, organisation_id=row.performing_laboratory_id, facts=facts)
    return row


def _settle(row: FhirOrder, actor: Actor, *, wait: bool) -> None:
    """`wait`: nobody waits for the answer any more, so that what is refused is parked and not raised."""
    state = Intake.objects.for_actor(actor, Verb.PLACE).filter(pk=row.intake_id).values_list("state", flat=True).first()
    if state in ("waiting", "checking"):
        return
    if state == "withdrawn" and wait and row.priority != Priority.STAT:  # of STAT, a person hears first
        _close(row, ACTOR, str(Reason.FHIR_FILE_WITHDRAWN), Reason.FHIR_FILE_WITHDRAWN.words)
        return
    try:
        if state in ("refused", "withdrawn"):
            raise _refusal(row)
        order = services.place(actor=actor, request=_request(row), order_id=row.pk)
    except (InvalidOrder, OrderConflict, NotPermitted, _FileRefused) as error:
        if not wait:
            raise
        _park(row, error.code or str(Reason.ORDER_INVALID), _words(error))
        return
    now = clock.now()
    audit.transition(FHIR_ORDER, row, to="placed", actor=actor, order=order, code="", words="", changed_at=now)


class _FileRefused(InvalidOrder):
    """Nothing can be ordered on the file."""


def _refusal(row: FhirOrder) -> _FileRefused:
    if row.intake.state == "withdrawn":
        error = _FileRefused({"intake": [Reason.FHIR_FILE_WITHDRAWN.words]})
        error.code = str(Reason.FHIR_FILE_WITHDRAWN)
        return error
    fatal = [problem for problem in row.intake.problems if problem.get("fatal", True)]
    words = str(fatal[0]["reason"]) if fatal else Reason.FHIR_FILE_REFUSED.words
    error = _FileRefused({"intake": [words]})
    error.code = str(fatal[0]["code"]) if fatal else str(Reason.FHIR_FILE_REFUSED)
    return error


def _words(error: HelicaseError) -> str:
    if isinstance(error, InvalidOrder):
        return " ".join(words for said in error.fields.values() for words in said)
    return str(error)


def _park(row: FhirOrder, code: str, words: str, **changes: Any) -> None:
    said = {"code": code, "words": words[:500], "changed_at": clock.now(), **changes}
    audit.transition(FHIR_ORDER, row, to="parked", actor=ACTOR, reason=code, **said)


def _close(row: FhirOrder, actor: Actor, code: str, words: str, **seen: Any) -> None:
    said = {"code": code, "words": words, "changed_at": clock.now(), **seen}
    audit.transition(FHIR_ORDER, row, to="closed", actor=actor, reason=code, **said)


def _locked(pk: UUID) -> FhirOrder | None:
    rows = FhirOrder.objects.select_for_update(of=("self",)).select_related("intake__file", "intake__test_version__definition")
    found: FhirOrder | None = rows.filter(pk=pk).first()
    return found


def _request(row: FhirOrder) -> OrderRequest:
    return REQUEST.validate_python({**row.request, "intake_id": str(row.intake_id)})


def _sender(row: FhirOrder) -> Actor:
    """Who sent it, with the rights he has now; the token's own limits were held against the request when it came."""
    whole = actor_for(User.objects.get(pk=row.sender_id))
    return Actor(id=whole.id, name=whole.name, grants=whole.grants, token=row.token)
