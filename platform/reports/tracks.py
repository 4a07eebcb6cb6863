"""One variant base by base: what the model thought of each base around it, with the reference and with the alternate.

Nobody keeps that with a score. It is computed when somebody asks, by a run of its own with the pins of the order's run, below every
order in the queue, and kept. It is unreleased, whatever became of the report.
"""

from dataclasses import dataclass

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from engine_queue import beside
from engine_queue.models import Item, Result, RunKind
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound, NotPermitted, Refused
from orders.models import Order
from reports import release
from reports.models import Track
from reports.track_bases import Strand, strands

DRAWN = frozenset({"centred", "grid-centred"})  # protocols whose score is a sum over windows


class NotDrawn(Refused):
    """Only a scored variant with its alleles written out has a track, under a protocol that scores whole windows."""


@dataclass(frozen=True)
class Shown:
    """A track as somebody finds it."""

    result: Result
    track: Track | None  # None: nobody has asked for it
    strands: tuple[Strand, ...] = ()
    same: bool = True  # its sums are those of the result
    stuck: str = ""  # reason code: a person must look at its job, or the item failed

    @property
    def waits(self) -> bool:
        """Whether it is still being computed."""
        return self.track is not None and not self.strands and self.same and not self.stuck


def ask(*, actor: Actor, order: Order, ordinal: int) -> Track:
    """Have a variant of the order's newest run told base by base; what was asked before is not computed again.

    Raises `NotPermitted`, `NotFound`, and `NotDrawn`.
    """
    require(actor, Verb.VIEW_UNRELEASED, order.performing_laboratory_id)
    if actor.id is None:
        raise NotPermitted("A person asks for it.", code="access.not-permitted")
    with transaction.atomic():
        Order.objects.select_for_update().get(pk=order.pk)
        result = _result(order, ordinal)
        known = Track.objects.filter(result=result).first()
        if known is not None:
            return known
        _require_drawn(result)
        run, of = result.run, result.item
        pins = {name: getattr(run, name) for name in beside.PINS}
        item = Item(contig=of.contig, position=of.position, ref=of.ref, alt=of.alt)
        made = beside.place(kind=RunKind.TRACK, of="track", reference=run.item_set.reference, items=[item], pins=pins)
        track = Track.objects.create(
            organisation_id=run.organisation_id, order=order, result=result, run=made, asked_by_id=actor.id, asked_at=clock.now()
        )
        facts = {"run": str(made.pk), "of": str(run.pk), "item": ordinal}
        audit.record(actor=actor, action="track.asked", obj=order, organisation_id=run.organisation_id, facts=facts)
    return track


def shown(*, actor: Actor, order: Order, ordinal: int) -> Shown:
    """How far it is, or what it says. Raises `NotPermitted` and `NotFound`."""
    require(actor, Verb.VIEW_UNRELEASED, order.performing_laboratory_id)
    result = _result(order, ordinal)
    track = Track.objects.select_related("run").filter(result=result).first()
    if track is None:
        return Shown(result, None)
    told: Result | None = track.run.results.first()
    if told is None:
        stuck = track.run.jobs.exclude(attention="").values_list("attention", flat=True).first()
        return Shown(result, track, stuck=stuck or "")
    if told.failure or told.answer is None:
        return Shown(result, track, stuck=told.failure)
    same = (told.ll_ref, told.ll_alt, told.delta) == (result.ll_ref, result.ll_alt, result.delta)
    return Shown(result, track, tuple(strands(told.answer, result.item, result.run.protocol)) if same else (), same=same)


def drawable(result: Result) -> bool:
    """Whether `ask` would take it."""
    whole = result.run.protocol.get("kind") in DRAWN and result.run.item_set.kind == "variant"
    return whole and result.delta is not None and not result.item.end_position


def _require_drawn(result: Result) -> None:
    if not drawable(result):
        raise NotDrawn(code="report.no-track")


def _result(order: Order, ordinal: int) -> Result:
    run = release.newest_run(order)
    of = run.results.select_related("item", "run__item_set__reference") if run else Result.objects.none()
    found: Result | None = of.filter(item__ordinal=ordinal).first()
    if found is None:
        raise NotFound("There is no such result of this order.")
    return found
