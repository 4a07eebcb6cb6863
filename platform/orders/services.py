"""Place and cancel orders. Each function is one transaction; what leaves the database leaves after the commit."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from engine_queue import cancelling, cutting, tickets
from engine_queue.models import Run, RunKind
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from foundation.reasons import Reason
from orders import duplicates, endings, estimates, hints, holds, identity, needs, promise, urgency
from orders.accession import named, next_accession
from orders.downtimes import late
from orders.duplicates import LooksDuplicate
from orders.errors import InvalidOrder, OrderConflict
from orders.machines import ORDER
from orders.models import Intake, Order, Patient, Specimen
from orders.parties import Parties, parties
from orders.remarks import LONG, remark
from orders.requests import OrderRequest, PatientDetails, SpecimenDetails, as_said
from orders.validation import validate
from registry.priority import PRIORITY_RANK, Priority


def place(
    *,
    actor: Actor,
    request: OrderRequest,
    told: frozenset[UUID] | None = None,
    replaces: Order | None = None,
    replaces_reason: str = "",
    order_id: UUID | None = None,
) -> Order:
    """Turn a ready intake into an order, its run, its first jobs and its events: all or nothing.

    `order_id` is what a new order is known by, where it was promised to somebody.

    Asking twice for the same thing gives the same order. Raises `NotPermitted`, `InvalidOrder` (field by field) or
    `OrderConflict`. A STAT order without a reason is still STAT, and flagged; an identity that does not match, and a
    STAT order under a number that stands for another one, are parked before anything is scored. What an order may replace,
    and what becomes of that one, is the matter of `orders.replacing`.

    `told` are the orders that a person was told this one looks like: any other raises `LooksDuplicate`. Without a person (None)
    nothing is blocked, and the order says what it looks like.
    """
    require(actor, Verb.PLACE, request.ordering_organisation_id)
    try:
        return _place(actor, request, told, replaces, {"pk": order_id or uuid4(), "replaces_reason": replaces_reason})
    except IntegrityError:  # somebody placed the same number or the same new patient at the same moment: look again
        return _place(actor, request, told, replaces, {"pk": order_id or uuid4(), "replaces_reason": replaces_reason})


def _place(
    actor: Actor, request: OrderRequest, told: frozenset[UUID] | None, replaces: Order | None, more: Mapping[str, Any]
) -> Order:
    with transaction.atomic():
        if told is not None:
            duplicates.one_at_a_time(request)
        intake = _intake(actor, request)
        digest = content_hash(request, intake, replaces)
        existing = _existing(request, intake)
        if existing is not None and says(existing, request, intake, replaces):
            return existing
        parked = Order.objects.filter(conflicts_with=existing, content_hash=digest).first() if existing is not None else None
        if parked is not None:
            return parked
        if existing is not None and (existing.intake_id == intake.pk or request.priority != Priority.STAT):
            raise OrderConflict(Reason.ORDER_CONFLICT.say(accession=existing.accession), code=str(Reason.ORDER_CONFLICT))
        who = parties(request, intake)
        validate(request, actor=actor, intake=intake, who=who)
        repeated = _repeated(actor, request)
        alike = duplicates.alike(actor, request, intake, besides=[one.pk for one in (repeated, replaces) if one])
        if told is not None and duplicates.untold(alike, told):
            raise LooksDuplicate(alike)
        facts = duplicates.facts(alike, told) | ({"repeats": str(repeated.pk)} if repeated else {})
        given = {**more, "conflicts_with": existing, "replaces": replaces, "content_hash": digest}
        order, settled = _create(actor, request, intake, who, facts, **given)
        if settled:
            accept(order=order, actor=actor, on_paper=request.late is not None)
        if request.late is not None:
            late.follow(order, request.late, actor)
        hints.changed(order)
        return order


def accept(*, order: Order, actor: Actor, on_paper: bool = True) -> Run:
    """Pin the order, start its clocks, make its clinical run, send the tickets, and end the order that it stands instead of.

    `on_paper`: it may have been entered late, and count from when it was taken on paper.
    """
    now, test = clock.now(), order.test_version
    promised = promise.at_acceptance(order, now, promise.counted_from(order, now) if on_paper else now)
    audit.transition(ORDER, order, to="accepted", actor=actor, accepted_at=now, **promised)
    item_set = order.intake.item_set
    if item_set is None:
        raise Refused("The file has not been checked and found usable.", code="order.invalid")
    run = Run.objects.create(
        organisation_id=order.performing_laboratory_id,
        order_id=order.pk,
        kind=RunKind.CLINICAL,
        item_set=item_set,
        test_version=test,
        model_version=test.deployment.model_version,
        deployment=test.deployment,
        precision=test.deployment.precision,
        protocol=test.protocol,
        reference_digest=order.intake.reference_digest,
        seed=secrets.randbits(63),
        rank=PRIORITY_RANK[order.priority],
        held=bool(order.hold_reason),
        due_at=promised["result_due"],
        items_total=order.items_total,
        tokens=estimates.tokens(order.intake),
        created_at=now,
    )
    audit.record(actor=actor, action="run.created", obj=run, organisation_id=run.organisation_id, facts={"order": str(order.pk)})
    tickets.send_on_commit(cutting.cut(run, cutting.AHEAD))
    _replaced(order, actor)
    _recollected(order, actor)
    return run


def cancel(*, actor: Actor, order: Order, reason: str, expected_edits: int) -> None:
    """Cancel an order that has not been reported; queued and running work stops. A reason is required.

    `expected_edits` is what the person saw: results that came in meanwhile do not matter, another person's change does.
    """
    require(actor, Verb.CANCEL, order.ordering_organisation_id, order.performing_laboratory_id)
    words = remark(reason, field="reason", most=LONG, missing="Say why the order is cancelled.")
    said = str(Reason.ORDER_CANCELLED)
    with transaction.atomic():
        locked = Order.objects.select_for_update().get(pk=order.pk)
        if locked.edits != expected_edits:
            raise Stale(code="state.stale")
        changes: dict[str, Any] = {"ended_at": clock.now(), "cancelled_reason": words, "edits": locked.edits + 1}
        end(locked, to="cancelled", actor=actor, reason=said, **changes)


_LATER = frozenset({"repeats", "provider_id", "site_id", "performing_site_id"})


def end(locked: Order, *, to: str, actor: Actor, reason: str, **changes: Any) -> None:
    """Move a locked order to a state in which nothing of it is computed any more: what was asked for is void, its work stops."""
    audit.transition(ORDER, locked, to=to, actor=actor, reason=reason, risk="", **changes)
    urgency.void_request(locked, actor)
    identity.void(locked, actor)
    holds.end(locked)
    for run in Run.objects.filter(order_id=locked.pk).exclude(state__in=["scored", "cancelled"]).order_by("created_at"):
        cancelling.cancel_run(run, actor=actor, reason=reason)
    if to == "cancelled":
        endings.report(locked, actor)
    hints.changed(locked)
    if locked.replaces is not None and not locked.stands:
        _tell_followed(locked.replaces, locked, actor, reason, action="order.replacement_ended")
        hints.changed(locked.replaces)


def content_hash(request: OrderRequest, intake: Intake, replaces: Order | None = None, *, as_written: bool = False) -> str:
    """SHA-256 over everything the requester said, file included: the same hash is the same order.

    One moment is the same in whatever zone it is written; `as_written`: as orders of before that was so were hashed.
    """
    if not as_written:
        request = replace(request, specimen=replace(request.specimen, collected_at=request.specimen.collected_at.astimezone(UTC)))
    named = {name: value for name, value in as_said(request).items() if name not in _LATER or value is not None}
    said = {
        **named,  # what was added later is left out where it is not said: what was hashed before hashes as it did
        **({"replaces": str(replaces.pk)} if replaces else {}),
        "intake_id": None,
        "file": intake.file.sha256,
        "sample": intake.sample,
        "test": str(intake.test_version_id),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def says(order: Order, request: OrderRequest, intake: Intake, replaces: Order | None = None) -> bool:
    """Whether an order was placed by a request that said the same."""
    hashes = (content_hash(request, intake, replaces, as_written=as_written) for as_written in (False, True))
    return order.content_hash in hashes


def _intake(actor: Actor, request: OrderRequest) -> Intake:
    reachable = Intake.objects.for_actor(actor)
    intake = (
        reachable.select_for_update(of=("self",))
        .select_related(
            "test_version__definition", "test_version__reference", "test_version__deployment__model_version", "file", "item_set"
        )
        .defer("test_version__reference__contigs", "test_version__deployment__model_version__card")
        .filter(pk=request.intake_id)
        .first()
    )
    if intake is None:
        raise InvalidOrder({"intake": ["This upload does not exist."]})
    return intake


def _existing(request: OrderRequest, intake: Intake) -> Order | None:
    same = Order.objects.filter(intake=intake).first()
    if same is None and request.placer_number:
        same = Order.objects.filter(
            ordering_organisation_id=request.ordering_organisation_id,
            placer_system=request.placer_system,
            placer_number=request.placer_number,
            conflicts_with=None,
        ).first()
    return same


def _repeated(actor: Actor, request: OrderRequest) -> Order | None:
    """The order that this one repeats. Raises `InvalidOrder` where that is another patient's, or not within reach."""
    if request.repeats is None:
        return None
    orders = Order.objects.for_actor(actor).filter(ordering_organisation_id=request.ordering_organisation_id)
    repeated = orders.select_related("specimen").prefetch_related("patient__identifiers")
    found: Order | None = repeated.filter(pk=request.repeats).first()
    if found is None:
        raise InvalidOrder({"repeats": ["The order that this one repeats does not exist here."]})
    home, said = found.ordering_organisation_id, request.patient
    numbers = {(one.system, one.value) for one in found.patient.identifiers.all() if one.retired_at is None}
    numbers.add((identity.system_of(home, found.stated.get("mrn_system", "")), found.stated_mrn))
    if (identity.system_of(home, said.mrn_system), said.mrn.strip()) not in numbers:
        raise InvalidOrder({"mrn": [f"This order repeats {found.accession}, of another patient. For this one, begin a new order."]})
    return found


def _replaced(order: Order, actor: Actor) -> None:
    """The order that this one replaces is cancelled unless it is closed; in any case, its events say which one follows it."""
    if order.replaces_id is None:
        return
    first = Order.objects.select_for_update().get(pk=order.replaces_id)
    if first.state in Order.OPEN:
        _followed(first, actor, Reason.ORDER_REPLACED, f"Replaced by {named(order, beside=first)}: {order.replaces_reason}")
    _tell_followed(first, order, actor, Reason.ORDER_REPLACED)
    hints.changed(first)


def _recollected(order: Order, actor: Actor) -> None:
    """The order whose specimen was rejected ends where it was ordered again: it would wait for nothing any more."""
    if order.repeats is None or order.repeats.specimen.state != "rejected":
        return
    first = Order.objects.select_for_update().get(pk=order.repeats.pk)
    if first.state in Order.OPEN and actor.may(Verb.CANCEL, first.ordering_organisation_id, first.performing_laboratory_id):
        words = f"Ordered again on a new specimen, as {named(order, beside=first)}."
        _followed(first, actor, Reason.ORDER_RECOLLECTED, words)
        _tell_followed(first, order, actor, Reason.ORDER_RECOLLECTED)


def _followed(locked: Order, actor: Actor, reason: Reason, words: str) -> None:
    changes: dict[str, Any] = {"ended_at": clock.now(), "cancelled_reason": words, "edits": locked.edits + 1}
    end(locked, to="cancelled", actor=actor, reason=str(reason), **changes)


def _tell_followed(first: Order, order: Order, actor: Actor, reason: Reason | str, *, action: str = "") -> None:
    audit.record(
        actor=actor, action=action or str(reason), obj=first, organisation_id=first.performing_laboratory_id, reason=str(reason),
        facts={"by": str(order.pk)},
    )  # fmt: skip


def _create(
    actor: Actor, request: OrderRequest, intake: Intake, who: Parties, facts: Mapping[str, object], **given: Any
) -> tuple[Order, bool]:
    home = request.ordering_organisation_id
    found = identity.identify(request.patient, organisation_id=home)
    order = Order.objects.create(
        **given,
        accession=next_accession(),
        ordering_organisation_id=home,
        performing_laboratory_id=intake.performing_laboratory_id,
        **who.columns,
        placer_system=request.placer_system,
        placer_number=request.placer_number,
        patient=found.patient,
        stated_mrn=request.patient.mrn.strip(),
        stated=stated(request.patient),
        specimen=_specimen(request.specimen, found.patient),
        test_version=intake.test_version,
        intake=intake,
        repeats_id=request.repeats,
        priority=request.priority,
        rank=PRIORITY_RANK[request.priority],
        stat_reason=request.stat_reason.strip(),
        indication=request.indication.strip(),
        **needs.columns(
            flags(request.priority, request.stat_reason, contradicted=found.contradicts, conflicts_with=given["conflicts_with"])
        ),
        items_total=intake.counts["accepted"],
        placed_by_id=actor.id,
        placed_at=clock.now(),
    )
    _tell_placed(order, actor, facts)
    if request.late is not None:
        late.write(order, request.late, actor)
    return order, identity.asked(order, found.contradicts) is None and order.conflicts_with is None


def _tell_placed(order: Order, actor: Actor, more: Mapping[str, object]) -> None:
    facts = {"priority": order.priority, "items": order.items_total, "intake": str(order.intake_id), "attention": order.attention}
    facts |= {**more, **({"replaces": str(order.replaces_id)} if order.replaces_id else {})}
    audit.record(actor=actor, action="order.placed", obj=order, organisation_id=order.performing_laboratory_id, facts=facts)


def flags(priority: str, stat_reason: str, *, contradicted: Patient | None, conflicts_with: Order | None) -> list[str]:
    """What an order needs a person for when it is placed, or when its identity is settled, the gravest first."""
    told = {
        Reason.IDENTITY_MISMATCH: contradicted is not None,
        Reason.ORDER_CONFLICT: conflicts_with is not None,
        Reason.STAT_REASON_MISSING: priority == Priority.STAT and not stat_reason.strip(),
    }
    return [str(reason) for reason, so in told.items() if so]


def stated(said: PatientDetails) -> dict[str, Any]:
    """The patient as stated, letter for letter."""
    details = asdict(said)
    others = details.pop("others")
    return {name: str(value) for name, value in details.items()} | ({"others": list(others)} if others else {})


def _specimen(said: SpecimenDetails, patient: Patient) -> Specimen:
    return Specimen.objects.create(
        organisation_id=patient.organisation_id,
        patient=patient,
        identifier=said.identifier.strip(),
        type=said.type.strip(),
        source=said.source.strip(),
        collected_at=said.collected_at.astimezone(UTC),  # PostgreSQL takes offsets up to 15:59
    )
