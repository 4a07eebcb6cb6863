"""Who is told of a level: the laboratory's own rules, or sane ones where it has made none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.models import Membership, Organisation, User
from accounts.roles import Role, Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from notices import services as notices
from notices.models import Channel, Endpoint
from notices.services import Audience, Told
from orders.clock_models import LEVELS, Clock
from orders.errors import InvalidOrder
from orders.models import Demotion, Escalation, EscalationRule, Order
from registry.priority import Priority


@dataclass(frozen=True)
class Rule:
    """A rule as it counts."""

    clock: str
    level: int
    role: str
    priority: str = ""
    channel: str = Channel.IN_APP


# Half of the time is worth a word for STAT alone; who is late concerns the director as well.
DEFAULTS = (
    Rule(Clock.RESULT, 50, Role.ANALYST, Priority.STAT),
    Rule(Clock.RESULT, 80, Role.ANALYST),
    Rule(Clock.RESULT, 100, Role.ANALYST),
    Rule(Clock.RESULT, 100, Role.DIRECTOR),
    Rule(Clock.REPORT, 50, Role.REVIEWER, Priority.STAT),
    Rule(Clock.REPORT, 80, Role.REVIEWER),
    Rule(Clock.REPORT, 100, Role.REVIEWER),
    Rule(Clock.REPORT, 100, Role.DIRECTOR),
)


def own(laboratory_id: UUID) -> list[EscalationRule]:
    """The rules that a laboratory has made."""
    rows = EscalationRule.objects.filter(laboratory_id=laboratory_id, ended_at=None).select_related("person", "endpoint")
    return list(rows.order_by("clock", "level", "priority", "id"))


def add(*, laboratory: Organisation, said: Mapping[str, Any], actor: Actor) -> EscalationRule:
    """A rule: clock, level, priority (blank: all), channel, and a role, a person's address or a webhook's name as `whom`.

    The first one takes the place of the defaults. Raises `NotPermitted` or `InvalidOrder`.
    """
    require(actor, Verb.OFFER_TEST, laboratory.pk)
    columns = _columns(laboratory, said)
    with transaction.atomic():
        made = EscalationRule.objects.create(laboratory=laboratory, created_at=clock.now(), **columns)
        _note(made, "escalation.rule_added", actor)
    return made


def end(*, rule: EscalationRule, actor: Actor) -> None:
    """Let a rule count no more. Raises `NotPermitted`."""
    require(actor, Verb.OFFER_TEST, rule.laboratory_id)
    with transaction.atomic():
        if EscalationRule.objects.filter(pk=rule.pk, ended_at=None).update(ended_at=clock.now()):
            _note(rule, "escalation.rule_ended", actor)


def deliver(payload: Mapping[str, Any]) -> None:
    """Hand over an escalation from the outbox to those whom the rules name, and to who has the order in hand."""
    found = Escalation.objects.select_related("order").get(pk=payload["escalation"])
    order = found.order
    if order.ended_at is not None:
        return
    facts = {"clock": found.clock, "level": found.level, "due": found.due.isoformat()}
    key = f"escalation:{found.pk}"
    notices.tell(_told(order, key, "order.escalated", facts), audience(order, clock=found.clock, level=found.level))


def deliver_demotion(payload: Mapping[str, Any]) -> None:
    """Hand over to a requester that somebody made his order less urgent."""
    found = Demotion.objects.select_related("order", "by").get(pk=payload["demotion"])
    if found.requester_id is None:
        return
    facts = {"from": found.before, "to": found.after, "by": found.by.name}
    notices.tell(_told(found.order, f"demotion:{found.pk}", "order.demoted", facts), Audience(in_app=[found.requester_id]))


def audience(order: Order, *, clock: str, level: int) -> Audience:
    """Who is told that an order has reached a level. Who has it in hand is told whatever the rules say."""
    ways: dict[str, set[UUID]] = {channel: set() for channel in Channel.values}
    rules: list[Any] = own(order.performing_laboratory_id) or list(DEFAULTS)
    for rule in rules:
        if (rule.clock, rule.level) == (clock, level) and rule.priority in ("", order.priority):
            ways[rule.channel] |= _named(rule, order.performing_laboratory_id)
    if order.assignee_id is not None:
        ways[Channel.IN_APP].add(order.assignee_id)
    return Audience(in_app=ways[Channel.IN_APP], email=ways[Channel.EMAIL], webhook=ways[Channel.WEBHOOK])


def _named(rule: Any, laboratory_id: UUID) -> set[UUID]:
    """People or endpoints that a rule names, who still belong to the laboratory."""
    if getattr(rule, "endpoint_id", None) is not None:
        return {rule.endpoint_id}
    staff = Membership.objects.filter(organisation_id=laboratory_id, ended_at=None, user__is_active=True)
    named = staff.filter(role=rule.role) if rule.role else staff.filter(user_id=rule.person_id)
    return set(named.values_list("user_id", flat=True))


def _told(order: Order, key: str, kind: str, facts: Mapping[str, Any]) -> Told:
    parties = [order.performing_laboratory_id, order.ordering_organisation_id]
    return Told(key, kind, order.performing_laboratory_id, parties, order.pk, order.accession, facts)


def _columns(laboratory: Organisation, said: Mapping[str, Any]) -> dict[str, Any]:
    wrong: dict[str, list[str]] = {}
    level = int(said["level"]) if str(said.get("level", "")).isdecimal() else 0
    if said.get("clock") not in Clock.values:
        wrong["clock"] = ["Choose results or report."]
    if level not in LEVELS:
        wrong["level"] = ["Choose 50, 80 or 100 %."]
    if said.get("priority", "") not in ("", *Priority.values):
        wrong["priority"] = ["Choose a priority, or all."]
    if said.get("channel") not in Channel.values:
        wrong["channel"] = ["Choose how they are told."]
    whom = _whom(laboratory, str(said.get("channel", "")), str(said.get("whom", "")).strip())
    if whom is None:
        wrong["whom"] = ["Choose a role, somebody who works in the laboratory, or one of its webhooks for that way."]
    if wrong or whom is None:
        raise InvalidOrder(wrong)
    return {"clock": said["clock"], "level": level, "priority": said.get("priority", ""), "channel": said["channel"], **whom}


def _whom(laboratory: Organisation, channel: str, whom: str) -> dict[str, Any] | None:
    if channel == Channel.WEBHOOK:
        mine = Endpoint.objects.filter(organisation=laboratory, ended_at=None)
        found = next((one for one in mine if whom in (one.name, str(one.pk))), None)
        return {"endpoint": found} if found else None
    if whom in Role.values:
        return {"role": whom}
    person = User.objects.filter(email__iexact=whom, memberships__organisation=laboratory, memberships__ended_at=None).first()
    return {"person": person} if whom and person else None


def _note(rule: EscalationRule, action: str, actor: Actor) -> None:
    facts = {"clock": rule.clock, "level": rule.level, "priority": rule.priority, "channel": rule.channel, "role": rule.role}
    audit.record(actor=actor, action=action, obj=rule, organisation_id=rule.laboratory_id, facts=facts)
