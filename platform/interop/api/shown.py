"""Rows as the API shows them."""

from collections.abc import Iterable
from typing import Any

from accounts.models import Organisation, Provider, Site
from audit.models import Event
from interop.api import shapes
from interop.api.late_shapes import LateShape
from orders.duplicates import Alike
from orders.estimates import Finish, tokens
from orders.models import HoldRequest, Intake, LateEntry, Order
from orders.selectors import Linked
from registry.models import TestVersion

# What of the events a requester reads: the same ones as on the order page.
_OF_ORDERS = (
    "state.accepted state.rejected state.in_analysis state.awaiting_review state.awaiting_second_review state.reported"
    " state.cancelled order.placed order.attention order.promoted order.demoted order.demotion_read order.held order.released"
    " order.stat_reason_given"
    " order.hold_asked order.hold_declined order.hold_withdrawn order.hold_expired order.at_risk order.in_time_again order.late"
    " order.entered_late"
)
TOLD = frozenset(
    {
        ("orders.intake", "intake.received"),
        ("orders.intake", "state.ready"),
        *(("orders.order", action) for action in _OF_ORDERS.split()),
    }
)
_OF_INTAKES = "id state filename kind samples sample records counts progress created_at checked_at"
_SAME = (
    "id accession state priority stat_reason attention attention_also placer_system placer_number items_total items_done risk"
    " placed_at accepted_at started_at scored_at ended_at result_due report_due edits"
)


def test(version: TestVersion, sites: Iterable[Site]) -> shapes.TestShape:
    """A test that is offered."""
    definition = version.definition
    return shapes.TestShape(
        id=version.pk,
        code=definition.code,
        name=definition.name,
        version=version.number,
        laboratory=shapes.Named.from_orm(definition.laboratory),
        sites=[shapes.SiteShape.from_orm(one) for one in sites if one.organisation_id == definition.laboratory_id],
        accepts=version.accepts,
        reference=version.reference.name,
        reference_digest=version.reference.digest,
        intended_use=version.intended_use,
        limitations=version.limitations,
        minutes=version.sla_minutes,
    )


def ordering(organisation: Organisation, providers: Iterable[Provider], sites: Iterable[Site]) -> shapes.OrderingShape:
    """An organisation, with those of these providers and sites that are its own."""
    return shapes.OrderingShape(
        id=organisation.pk,
        name=organisation.name,
        providers=[shapes.ProviderShape.from_orm(one) for one in providers if one.organisation_id == organisation.pk],
        sites=[shapes.SiteShape.from_orm(one) for one in sites if one.organisation_id == organisation.pk],
    )


def intake(row: Intake) -> shapes.IntakeShape:
    """An upload."""
    return shapes.IntakeShape(
        **{name: getattr(row, name) for name in _OF_INTAKES.split()},
        test=row.test_version_id,
        organisation=shapes.Named.from_orm(row.ordering_organisation),
        laboratory=shapes.Named.from_orm(row.performing_laboratory),
        sha256=row.file.sha256,
        size=row.file.size,
        problems=[_trouble(problem) for problem in row.problems],
        tokens=tokens(row) if row.state == "ready" else None,
    )


def order_line(order: Order) -> shapes.OrderLine:
    """An order in a list."""
    return shapes.OrderLine(**_line(order))


def order(
    order: Order,
    alike: Iterable[Alike],
    *,
    released: bool,
    finish: Finish | None,
    asked: HoldRequest | None,
    linked: Linked,
    late: LateEntry | None,
) -> shapes.OrderShape:
    """One order; `asked` is the open request to hold it, `linked` the orders around it that the reader may see."""
    specimen = order.specimen
    return shapes.OrderShape(
        **_line(order),
        indication=order.indication,
        provider=order.provider_name,
        site=order.ordering_site.name,
        performing_site=order.performing_site.name,
        specimen=shapes.SpecimenShape.from_orm(specimen),
        late_entry=_late(late),
        intake=order.intake_id,
        cancelled_reason=order.cancelled_reason,
        released=released,
        hold_asked=_hold_asked(asked),
        repeats=linked.repeats.pk if linked.repeats else None,
        replaces=linked.replaces.pk if linked.replaces else None,
        replaced_by=linked.successor.pk if linked.successor else None,
        estimate=estimate(finish),
        looks_like=[_looks_like(one) for one in alike],
    )


def _late(entry: LateEntry | None) -> LateShape | None:
    if entry is None:
        return None
    said: dict[str, Any] = {name: getattr(entry, name) for name in ("requested_at", "received_at", "reason", "words", "entered_at")}
    return LateShape(
        downtime=entry.downtime.code, taken_by=entry.taken_by_words, entered_by=entry.entered_by.name, **said
    )  # fmt: skip


def _hold_asked(asked: HoldRequest | None) -> shapes.HoldRequestShape | None:
    if asked is None:
        return None
    said: dict[str, Any] = {name: getattr(asked, name) for name in ("reason", "words", "asked_at", "expires_at")}
    return shapes.HoldRequestShape(asked_by=asked.asked_by.name, **said)


def _looks_like(one: Alike) -> shapes.LooksLike:
    reasons = [str(reason) for reason in one.reasons]
    return shapes.LooksLike(id=one.order.pk, accession=one.order.accession, reasons=reasons)


def events(rows: Iterable[Event]) -> shapes.EventList:
    """A timeline."""
    told = [event for event in rows if (event.object_type, event.action) in TOLD]
    return shapes.EventList(
        events=[
            shapes.EventShape(
                at=event.at,
                action=event.action,
                by=event.actor_name,
                reason=event.reason,
                before=event.facts.get("from"),
                after=event.facts.get("to"),
            )
            for event in told
        ]
    )


def _line(order: Order) -> dict[str, Any]:
    patient = order.patient
    return {name: getattr(order, name) for name in _SAME.split()} | {
        "hold": order.hold_reason,
        "organisation": shapes.Named.from_orm(order.ordering_organisation),
        "laboratory": shapes.Named.from_orm(order.performing_laboratory),
        "patient": shapes.PatientShape(
            mrn=order.stated_mrn,
            family_name=patient.family_name,
            given_name=patient.given_name,
            birth_date=patient.birth_date,
            sex=patient.sex,
        ),
        "test": order.test_version_id,
        "test_name": order.test_version.definition.name,
    }


def _trouble(problem: dict[str, Any]) -> shapes.Trouble:
    return shapes.Trouble(
        code=problem["code"], reason=problem["reason"], line=problem.get("line"), fatal=problem.get("fatal", True) is not False
    )


def estimate(finish: Finish | None) -> shapes.Estimate | None:
    """When work will be done, where that can be said."""
    if finish is None:
        return None
    return shapes.Estimate(
        earliest=finish.low, latest=finish.high, items_ahead=finish.ahead, served=finish.served, paused=finish.paused
    )
