"""Tell everybody who may look at audit trails that the chain is broken, or that it is not sealed, anchored or checked any more."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction

from accounts.people import members_who_may
from accounts.roles import Verb
from audit.standing import standing
from foundation import clock
from foundation.actor import NOBODY
from notices import services as notices
from notices.models import Notice
from notices.services import Audience, Told
from outbox import services as outbox
from oversight.models import Check

TOPIC = "audit.alarm"
BROKEN, TROUBLE = "audit.broken", "audit.trouble"
UNCHECKED = timedelta(days=2)  # without a check that came to an end


def post_broken(check: Check) -> None:
    """Hand a broken chain to the outbox, in the transaction that keeps it."""
    first: Mapping[str, str] = next(iter(check.seen.get("findings", [])), {})
    said = {"key": f"audit:{check.pk}", "kind": BROKEN, "words": str(first.get("words", "")), "found": check.seen.get("found", 0)}
    outbox.post(topic=TOPIC, payload=said, organisation_id=NOBODY)


def unchecked() -> str:
    """What is said where no check has come to an end lately, though some were asked for; blank: one has, or none was."""
    late = clock.now() - UNCHECKED
    if not Check.objects.filter(asked_at__lt=late).exists():
        return ""
    found = Check.objects.filter(state__in=["good", "incomplete", "broken"], ended_at__range=(late, clock.now())).exists()
    return "" if found else "The audit trail could not be checked for two days."


def watch() -> None:
    """Tell once a day of each alarm that stands."""
    today = f"{clock.now():%Y-%m-%d}"
    for words in filter(None, [*standing().alarms, unchecked()]):
        key = f"audit:{today}:{words}"[:120]
        if not Notice.objects.filter(key=key).exists():
            with transaction.atomic():
                outbox.post(topic=TOPIC, payload={"key": key, "kind": TROUBLE, "words": words, "found": 0}, organisation_id=NOBODY)


def deliver(payload: Mapping[str, Any]) -> None:
    """On the page and by e-mail."""
    members = list(members_who_may(Verb.VIEW_AUDIT).values_list("user_id", "organisation_id"))
    people, parties = {user for user, _ in members}, {organisation for _, organisation in members}
    if people:
        facts = {"words": payload["words"], "found": payload["found"]}
        told = Told(key=payload["key"], kind=payload["kind"], organisation_id=NOBODY, parties=parties, facts=facts)
        notices.tell(told, Audience(in_app=people, email=people))
