"""The order page, gathered: timeline, flags, provenance, what can be done next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from accounts.roles import Verb
from audit.models import Event
from casefile import selectors as casefile
from dashboard import (
    critical_page,
    delay_page,
    engine_line,
    identity_page,
    less_urgent,
    outlook,
    papers,
    repeating,
    specimens,
    urgency,
)
from dashboard.outlook import Outlook, Stop
from dashboard.verdicts import exceptions
from dashboard.wording import FLAGS, counted, duration, flag, parked
from engine_queue.models import Run
from foundation.actor import Actor
from foundation.reasons import Reason
from interop.fhir import finding
from notices.wording import words as escalated
from orders import conflicts, duplicates, needs, selectors, specimen_corrections
from orders.downtimes.selectors import late_entry
from orders.holding import may_answer
from orders.machines import IN_ERROR
from orders.models import Demotion, HoldRequest, Order
from orders.replacing import may_replace
from orders.specimen_models import condition_in_words
from reports import delivered, wrong_patient
from reports.interpreting import STATES
from reports.models import ReportKind
from reports.release import may_see_scores
from reports.selectors import ResultsPanel, asked, results_panel
from reports.services import versions

# (object, action) → title of a timeline entry; events without a title here are for the audit pages.
_TITLES = {
    ("orders.intake", "intake.received"): "Input received",
    ("orders.intake", "state.ready"): "Input checked",
    ("orders.order", "order.placed"): "Order received",
    ("orders.order", "state.accepted"): "Accepted",
    ("orders.order", "state.rejected"): "Rejected",
    ("orders.order", "state.in_analysis"): "Scoring started",
    ("orders.order", "state.awaiting_review"): "Scored",
    ("orders.order", "order.interpreted"): "Interpretation written",
    ("orders.order", "state.awaiting_second_review"): "First signature",
    ("orders.order", "state.reported"): "Reported",
    ("orders.order", "state.cancelled"): "Cancelled",
    ("orders.order", "order.replaced"): "Replaced",
    ("orders.order", "order.replacement_ended"): "What was to replace it came to nothing",
    ("orders.order", "state.entered_in_error"): "Entered in error",
    ("orders.order", "order.identity_decided"): "Identity check",
    ("orders.order", "order.conflict_settled"): "Order number settled",
    ("orders.order", "order.patient_moved"): "Record of the patient merged, or parted again",
    ("orders.order", "order.attention"): "Needs a person",
    ("orders.order", "order.person_named"): "Named to see to it",
    ("orders.order", "order.specimen_received"): "Specimen received",
    ("orders.order", "order.specimen_rejected"): "Specimen rejected",
    ("orders.order", "order.rejection_read"): "Rejection read",
    ("orders.order", "order.reception_taken_back"): "Reception taken back",
    ("orders.order", "order.rejection_taken_back"): "Rejection taken back",
    ("orders.order", "order.recollected"): "Ordered again on a new specimen",
    ("orders.order", "order.promoted"): "Made more urgent",
    ("orders.order", "order.demoted"): "Made less urgent",
    ("orders.order", "order.stat_reason_given"): "Reason for STAT given",
    ("orders.order", "order.demotion_read"): "Read that it is less urgent",
    ("orders.order", "order.held"): "Put on hold",
    ("orders.order", "order.released"): "Goes on",
    ("orders.order", "order.hold_asked"): "Hold asked for",
    ("orders.order", "order.hold_declined"): "Hold declined",
    ("orders.order", "order.hold_withdrawn"): "Hold taken back",
    ("orders.order", "order.hold_expired"): "Hold not confirmed in time",
    ("orders.order", "order.assigned"): "Assigned",
    ("orders.order", "order.unassigned"): "Nobody’s work any more",
    ("orders.order", "order.at_risk"): "At risk of being late",
    ("orders.order", "order.in_time_again"): "Expected in time again",
    ("orders.order", "order.late"): "Late",
    ("orders.order", "order.entered_late"): "Entered late",
    ("orders.order", "order.escalated"): "Told inside the laboratory",
    ("orders.order", "order.delay_told"): "Told of the delay",
}
_COLOURS = {
    **dict.fromkeys(("order.attention", "order.held", "order.hold_asked", "order.at_risk"), "amber"),
    **dict.fromkeys(
        ("order.late", "order.specimen_rejected", "state.cancelled", "state.rejected", "state.entered_in_error"), "red"
    ),
}
_NEXT = {
    "submitted": "Waiting to be accepted", "accepted": "Waiting for an engine worker", "in_analysis": "Scoring",
    "awaiting_review": "Awaiting review", "awaiting_second_review": "Awaiting the second signature",
}  # fmt: skip


_RECLASSED = {_TITLES["orders.order", action] for action in ("order.promoted", "order.demoted")}  # the order knows its last reason
_SECOND = {"asked_by": "as asked by", "second": "together with"}  # facts of an event that name another person
_OTHERS = (*_SECOND, "assignee", "before")  # facts that may do so
LISTED = 50  # records that were not accepted, shown on the page


@dataclass(frozen=True)
class Entry:
    """One line of the timeline."""

    title: str
    at: datetime | None  # None: not yet
    detail: str = ""
    colour: str = ""
    until: datetime | None = None  # of a pause that is over
    low: datetime | None = None  # what was expected then …
    high: datetime | None = None
    due: datetime | None = None  # … and what it was due


def live(actor: Actor, order: Order) -> dict[str, object]:
    """What the live part shows: stage, counts, flags, estimate, all of one reading of the order."""
    seen, request = outlook.outlook(order), selectors.hold_requests([order]).get(order.pk)
    unread = selectors.unread_demotions(order)
    return {
        "order": order,
        "token": f"{token(order, seen, request, unread)}.{casefile.stamp(actor, order)}.{delivered.stamp(order)}",
        "request_to_hold": request,
        "less_urgent": less_urgent.of_order(actor, order, unread),
        "place": engine_line.place(order),
        "flags": flags(order),
        "outlook": seen,
        "delay": delay_page.of_order(actor, order),
        "assignable": order.state in Order.OPEN and actor.may(Verb.ASSIGN, order.performing_laboratory_id),
        "whom_to_ask": identity_page.whom_to_ask(actor, order),
    }


def whole(actor: Actor, order: Order, parameters: Mapping[str, str], part: dict[str, object] | None = None) -> dict[str, object]:
    """The live part, read already or not, and everything around it."""
    part = part or live(actor, order)
    seen, asked_for = cast(Outlook, part["outlook"]), cast(HoldRequest | None, part["request_to_hold"])
    panel = results(actor, order, parameters)
    rejected = rejected_inputs(order)
    linked = selectors.linked(actor, order)
    listed = exceptions(order.intake, LISTED) if rejected else []
    return part | {
        "timeline": timeline(order, seen),
        "provenance": provenance(actor, order),
        "panel": panel,
        "signatures": counted(int(order.test_version.signatures[order.priority]), "person signs", "people sign"),
        **_report(actor, order),
        **critical_page.of_order(actor, order),
        "may_see": panel is not None or may_see_scores(actor, order),
        "may_cancel": may_cancel(actor, order),
        "taken_back": specimen_corrections.taken_back(order),
        "may_recollect": repeating.may_recollect(actor, order),
        "may_repeat": repeating.may_repeat(actor, order),
        "may_audit": actor.may(Verb.VIEW_AUDIT, order.performing_laboratory_id),
        **papers.parts(actor, order),
        "may_see_to_specimen": specimens.may_see_to(actor, order),
        "may_decide": order.attention == "identity.mismatch" and order.ended_at is None and identity_page.may_decide(actor, order),
        "may_settle": conflicts.waits(order) and conflicts.may_settle(actor, order),
        "asked_by_fhir": finding.asked_for(order),
        "may_declare": wrong_patient.may_declare(actor, order),
        "stated": identity_page.stated_otherwise(order),
        "may_open_patient": actor.may(Verb.VIEW_ORDER, order.patient.organisation_id),
        "may_replace": linked.successor is None and may_replace(actor, order),
        "linked": linked,
        "late_entry": late_entry(order),
        "may_steer": urgency.may_change(actor, order, asked_for),
        "may_say_why": urgency.may_say_why(actor, order),
        "may_answer": asked_for is not None and may_answer(actor, order, asked_for),
        "alike": duplicates.noted(actor, order),
        "rejected": rejected,
        "exceptions": listed,
        "more_exceptions": max(0, sum(number for _, number in rejected) - len(listed)),
    }


def _report(actor: Actor, order: Order) -> dict[str, object]:
    """The versions of the report, and what this person may do with them next."""
    laboratory = order.performing_laboratory_id
    inside, found = actor.may(Verb.VIEW_UNRELEASED, laboratory), versions(actor, order)
    return {
        "versions": found,
        "deliveries": delivered.of_order(actor, order),
        "may_deliver": actor.may(Verb.DELIVER, order.ordering_organisation_id, laboratory),
        "may_review": inside and order.state in STATES,
        "may_sign": inside and any(one.state == "draft" and one.kind != ReportKind.UNSIGNED for one in found),
        "may_correct": order.state == "reported" and actor.may(Verb.CORRECT, laboratory),
    }


def timeline(order: Order, seen: Outlook) -> list[Entry]:
    """What happened, from audit events and from what workers told of pauses, and what comes next."""
    events = selectors.timeline(order)
    names = selectors.names(str(event.facts[role]) for event in events for role in _OTHERS if event.facts.get(role))
    told = [entry for event in events if (entry := _entry(event, order, names))]
    if changed := [entry for entry in told if entry.title in _RECLASSED]:
        told[told.index(changed[-1])] = replace(changed[-1], detail=f"{changed[-1].detail}: {order.priority_reason}")
    told += [_pause(stop, seen.earlier_words if place == 0 else "") for place, stop in enumerate(seen.stops)]
    told.sort(key=lambda entry: entry.at.timestamp() if entry.at else 0.0)
    upcoming = _NEXT.get(order.state)
    if upcoming is None or parked(order.attention):
        return told
    waits = ("On hold", "until somebody lets it go on") if order.hold_reason else (upcoming, _upcoming(order, seen))
    return [*told, Entry(waits[0], None, waits[1], "next")]


def _pause(stop: Stop, before: str) -> Entry:
    lasted = f"after {stop.lasted}; results unchanged" if stop.until else "it goes on by itself"
    return Entry("Paused for more urgent work", stop.since, "; ".join(filter(None, (lasted, before))), "amber", until=stop.until)


def _entry(event: Event, order: Order, names: Mapping[str, str]) -> Entry | None:
    title = _TITLES.get((event.object_type, event.action))
    if title is None:
        return None
    if event.reason == Reason.ORDER_RETURNED:
        title = "Returned for another run"
    if event.facts.get("from") == "awaiting_second_review" and event.action == "state.awaiting_review":
        return Entry("First signature taken back", event.at, f"{_TAKEN_BACK.get(event.reason, '')}, by {event.actor_name}", "amber")
    entry = Entry(title, event.at, _detail(event, order, names), _COLOURS.get(event.action, ""))
    if event.action in ("order.at_risk", "order.in_time_again"):
        return replace(entry, low=_fact(event, "low"), high=_fact(event, "high"), due=_fact(event, "due"))
    return entry


_TAKEN_BACK = {
    "report.withdrawn": "the report was withdrawn from signing", "report.facts-changed": "what it said has changed",
    "report.interpretation-edited": "the interpretation was edited",
}  # fmt: skip


def _fact(event: Event, name: str) -> datetime | None:
    return datetime.fromisoformat(event.facts[name]) if name in event.facts else None


def _detail(event: Event, order: Order, names: Mapping[str, str]) -> str:
    intake = order.intake
    match event.object_type, event.action:
        case "orders.intake", "intake.received":
            return f"{intake.filename}, by {event.actor_name}"
        case "orders.intake", "state.ready":
            return ", ".join(f"{number:,} {key.replace('_', ' ')}" for key, number in intake.counts.items() if number)
        case "orders.order", "order.placed":
            return f"by {event.actor_name}, {order.ordering_organisation.name}{_nevertheless(event)}"
        case "orders.order", "state.in_analysis" if event.reason != Reason.ORDER_RETURNED:
            return f"worker {event.actor_name}{_waited(order)}"
        case "orders.order", "state.awaiting_review":
            return f"{counted(order.items_total, 'item')}{_scored_in(order)}"
        case "orders.order", "order.attention":
            return flag(event.reason)
        case "orders.order", "order.person_named":
            return f"{names.get(str(event.facts['assignee']), '')}, and every operator is told"
        case "orders.order", "order.specimen_received":
            said = condition_in_words(str(event.facts.get("condition", "")), "")
            return f"{said}, by {event.actor_name}" if said else f"by {event.actor_name}"
        case "orders.order", "order.specimen_rejected":
            return f"{flag(event.reason)} By {event.actor_name}"
        case "orders.order", "order.promoted" | "order.demoted":
            return f"{event.facts['from']} → {event.facts['to']}, by {event.actor_name}"
        case "orders.order", "order.held":
            return f"{flag(event.reason)} By {event.actor_name}{_second(event, names)}"
        case "orders.order", "order.hold_asked":
            return f"{flag(event.reason)} By {event.actor_name}; the work goes on until a second person agrees"
        case "orders.order", "order.escalated":
            return escalated(event.action, event.facts)
        case "orders.order", "order.assigned" | "order.unassigned":
            return _assigned(event, names)
        case "orders.order", "order.hold_expired":
            return "nobody answered; the work went on"
        case "orders.order", "order.identity_decided" | "order.conflict_settled":
            return f"{flag(event.reason)} By {event.actor_name}"
        case "orders.order", "state.cancelled" | "state.rejected" | "state.entered_in_error":
            return f"{order.cancelled_reason or flag(event.reason)}, by {event.actor_name}"
    return "" if event.actor_id is None else f"by {event.actor_name}"


def _nevertheless(event: Event) -> str:
    """That it looked like another order when it was placed; which, the page names beside."""
    if not event.facts.get("alike"):
        return ""
    return ", who was told that it looks like another order" if event.facts.get("nevertheless") else "; it looks like another order"


def _assigned(event: Event, names: Mapping[str, str]) -> str:
    """To whom, from whom, by whom or why."""
    to, before = (names.get(str(event.facts.get(role)), "") for role in ("assignee", "before"))
    if event.actor_id is None:
        return f"{before}: {flag(event.reason)}"
    by = "" if str(event.actor_id) == event.facts.get("assignee") else f", by {event.actor_name}"
    return f"{f'to {to}' if to else f'it was {before}’s'}{f', before {before}’s' if to and before else ''}{by}"


def _second(event: Event, names: Mapping[str, str]) -> str:
    """The other of two people who held a STAT order."""
    said = [f"{words} {names[event.facts[role]]}" for role, words in _SECOND.items() if event.facts.get(role) in names]
    return f", {', '.join(said)}" if said else ""


def _waited(order: Order) -> str:
    if order.started_at is None or order.accepted_at is None:
        return ""
    return f", {duration((order.started_at - order.accepted_at).total_seconds())} after acceptance"


def _scored_in(order: Order) -> str:
    if order.scored_at is None or order.started_at is None:
        return ""
    return f" in {duration((order.scored_at - order.started_at).total_seconds())}"


def _upcoming(order: Order, seen: Outlook) -> str:
    return seen.words if order.state == "accepted" else ""


def flags(order: Order) -> list[str]:
    """What a reader must know before he reads on."""
    ended = order.ended_at is not None  # cancelled: there is no way out to point to any more
    found = [flag(code) for code in needs.codes(order) if not (ended and parked(code))]
    if order.hold_reason and order.ended_at is None:
        found.append(f"On hold: {flag(order.hold_reason)}")
    if order.priority == "stat" and not order.stat_reason and "stat.reason-missing" not in needs.codes(order):
        found.append(FLAGS["stat.reason-missing"])
    return found + [str(problem["reason"]) for problem in order.intake.problems if problem.get("fatal") is False]


@dataclass(frozen=True)
class Provenance:
    """What decides the numbers."""

    model: str
    weights: str
    precision: str
    protocol: str
    reference: str
    digest: str
    deployment: str
    fingerprint: str
    test: str


def provenance(actor: Actor, order: Order) -> Provenance:
    """From the run it was pinned to; for somebody who may not see runs, and before acceptance, from the test version."""
    run: Run | None = (
        Run.objects.for_actor(actor)
        .filter(order_id=order.pk)
        .select_related("model_version", "deployment")
        .order_by("created_at")
        .last()
    )
    test = order.test_version
    deployment = run.deployment if run else test.deployment
    model = run.model_version if run else deployment.model_version
    return Provenance(
        model=str(model), weights=model.weights_sha256, precision=run.precision if run else deployment.precision,
        protocol=_protocol(run.protocol if run else test.protocol), reference=test.reference.name,
        digest=run.reference_digest if run else order.intake.reference_digest, deployment=deployment.name,
        fingerprint=deployment.fingerprint, test=str(test),
    )  # fmt: skip


def _protocol(protocol: dict[str, object]) -> str:
    strand = {"average": "both strands, averaged", "forward": "forward strand", "reverse": "reverse strand"}
    said = strand.get(str(protocol.get("strand")), str(protocol.get("strand")))
    return f"{protocol.get('kind')}, {protocol.get('window'):,} bases, {said}"


def results(actor: Actor, order: Order, parameters: Mapping[str, str]) -> ResultsPanel | None:
    """The results panel when all is scored (or the scores so far, if asked for); None where this actor may not see any."""
    if order.state == IN_ERROR or (order.scored_at is None and "partial" not in parameters):
        return None
    wanted = asked(parameters)
    return results_panel(actor, order, sort=wanted.sort, filter=wanted.filter, page=wanted.page)


def token(order: Order, seen: Outlook, request: HoldRequest | None, unread: Sequence[Demotion]) -> str:
    """Changes whenever more than the counts has changed, so that the page re-reads its other parts too."""
    stops = seen.earlier + len(seen.stops) - 0.5 * (seen.standing is not None)
    asked, told = request.pk if request else "", unread[-1].pk if unread else ""
    stands = (order.state, *needs.codes(order), order.hold_reason, order.priority, order.risk, order.assignee_id)
    return f"{'.'.join(map(str, stands))}.{stops:g}.{asked}.{told}"


def may_cancel(actor: Actor, order: Order) -> bool:
    """Whether this actor may cancel it as it stands."""
    return order.state in Order.OPEN and actor.may(Verb.CANCEL, order.ordering_organisation_id, order.performing_laboratory_id)


def rejected_inputs(order: Order) -> list[tuple[str, int]]:
    """Outcomes of the intake other than accepted, with their numbers."""
    return [(key.replace("_", " "), number) for key, number in order.intake.counts.items() if number and key != "accepted"]
