"""Break-glass: one patient's released reports of one laboratory, for somebody who has no right to them and says why.

Who: a person with the verb in an organisation that has ordered from the laboratory. What: orders of that patient there, and what
was released of them, for an hour, on pages and as their files. He must know the patient: an exact number and the birth date.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.db import models, transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts import break_glass, step_up
from accounts.break_glass_models import BreakGlass, Kind
from accounts.models import Organisation, User
from accounts.people import people_who_may
from accounts.roles import Verb
from accounts.step_up import About
from audit import services as audit
from audit.models import Event
from foundation.actor import NOBODY, Actor, Opened
from foundation.errors import NotFound, NotPermitted, Refused
from notices import services as notices
from notices.services import Audience, Told
from orders.errors import InvalidOrder
from orders.models import Order, Patient, PatientIdentifier
from orders.remarks import LONG, remark
from outbox import services as outbox

TOPIC = KIND = "break_glass.opened"
MOST_READS = 500  # events shown of one opening


class NobodyFound(Refused):
    """The laboratory has no patient with exactly this number and this birth date whom you could open. Nothing was opened."""


@dataclass(frozen=True)
class Asked:
    """What somebody gave who wants to open reports."""

    laboratory: UUID
    number: str  # of the patient, exactly
    born: date
    kind: Kind
    words: str

    @property
    def sha256(self) -> str:
        """What the proof is bound to."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True, default=str).encode()).hexdigest()


def laboratories(actor: Actor) -> list[Organisation]:
    """Where this person may open reports: where his organisation has ordered, and he does not see all orders anyway."""
    mine = actor.organisations(Verb.BREAK_GLASS)
    related = Order.objects.filter(ordering_organisation__in=mine, performing_laboratory=OuterRef("pk")).exclude(state="draft")
    rows = Organisation.objects.filter(Exists(related)).exclude(pk__in=actor.organisations(Verb.VIEW_ORDER))
    return list(rows.order_by("name")) if mine else []


def open_for(*, actor: Actor, asked: Asked, password: str) -> BreakGlass:
    """Open it, and tell auditors and directors at once. Raises `NotPermitted`, `InvalidOrder`, `NotProven`, `NobodyFound`.

    A number that nobody has, one with another birth date, and one of a patient that may not be opened get the same answer, and
    leave an event.
    """
    organisation = _related(actor, asked.laboratory)
    words = remark(asked.words, field="words", most=LONG, missing="Say in words why you need these reports.")
    break_glass.may_try(actor)
    about = About(User.objects.get(pk=actor.id or NOBODY), asked.sha256, asked.laboratory)
    proof = step_up.prove(actor=actor, about=about, given=password)
    patient = _found(actor, asked)
    if patient is None:
        break_glass.missed(actor=actor, proof=proof, laboratory=asked.laboratory, organisation=organisation)
        raise NobodyFound(code="breakglass.nobody")
    whose = break_glass.Whose(organisation, asked.laboratory, patient.pk, patient.organisation_id)
    with transaction.atomic():
        made = break_glass.open_one(actor=actor, whose=whose, kind=asked.kind, words=words, proof=proof, about=about)
        outbox.post(topic=TOPIC, payload={"grant": str(made.pk)}, organisation_id=made.laboratory_id)
    return made


def by(actor: Actor, order: Order) -> Opened | None:
    """By which opening alone this person sees the order; None: he has a right to it, or sees nothing of it."""
    if actor.may(Verb.VIEW_ORDER, order.ordering_organisation_id, order.performing_laboratory_id) or actor.opened is None:
        return None
    same = (order.patient_id, order.performing_laboratory_id) == (actor.opened.patient, actor.opened.laboratory)
    return actor.opened if same else None


def read(
    *, actor: Actor, opened: Opened, order: Order, obj: models.Model, action: str, facts: Mapping[str, Any] | None = None
) -> None:
    """Write that this was read under an opening: each time, for the auditors of the laboratory and of whoever ordered it."""
    said = {**(facts or {}), "break_glass": True, "grant": str(opened.grant)}
    with transaction.atomic():
        audit.record_all(
            audit.event(actor=actor, action=action, obj=obj, organisation_id=one, facts=said)
            for one in sorted({order.performing_laboratory_id, order.ordering_organisation_id})
        )


def opened_orders(actor: Actor) -> list[Order]:
    """The orders of the patient that is open, newest first; each look is an event. Raises `NotFound` where nothing is open."""
    if actor.opened is None:
        raise NotFound
    rows: QuerySet[Order] = Order.objects.for_actor(actor, opened=True).filter(
        patient=actor.opened.patient, performing_laboratory=actor.opened.laboratory
    )
    found = list(
        rows.exclude(state="draft")
        .select_related("patient", "test_version__definition", "ordering_organisation")
        .order_by("-placed_at")
    )
    for order in found:
        read(actor=actor, opened=actor.opened, order=order, obj=order, action="break_glass.order_seen")
    return found


def grants(actor: Actor) -> QuerySet[BreakGlass]:
    """Every opening at the laboratories whose audit trail this person may look at, newest first."""
    return (
        BreakGlass.objects.for_actor(actor)
        .select_related("user", "organisation", "laboratory", "reviewed_by", "proof")
        .order_by("-opened_at")
    )


def grant_for(actor: Actor, pk: UUID) -> BreakGlass:
    """One of them. Raises `NotFound`."""
    found = grants(actor).filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def reads(actor: Actor, grant: BreakGlass) -> list[Event]:
    """What was read under it, the first first."""
    during = Event.objects.for_actor(actor).filter(
        actor_id=grant.user_id, at__gte=grant.opened_at, at__lte=grant.ended_at or grant.until, organisation_id=grant.laboratory_id,
        facts__grant=str(grant.pk), facts__break_glass=True,
    )  # fmt: skip
    return list(during.order_by("id")[:MOST_READS])


def patient_of(grant: BreakGlass) -> Patient:
    """Whose reports were opened."""
    return Patient.objects.get(pk=grant.patient_id)


def deliver(payload: Mapping[str, Any]) -> None:
    """Tell everybody who may look at the audit trail of the laboratory, on the page and by e-mail."""
    grant = BreakGlass.objects.select_related("user", "organisation").get(pk=payload["grant"])
    people = {one.pk for one in people_who_may(Verb.VIEW_AUDIT, [grant.laboratory_id])}
    facts = {"person": grant.user.name, "organisation": grant.organisation.name}
    told = Told(
        key=f"{TOPIC}:{grant.pk}", kind=KIND, organisation_id=grant.laboratory_id, parties=[grant.laboratory_id], facts=facts
    )
    notices.tell(told, Audience(in_app=people, email=people))


def _related(actor: Actor, laboratory: UUID) -> UUID:
    """Through which of his organisations this person may ask there."""
    if laboratory not in {one.pk for one in laboratories(actor)}:
        raise NotPermitted("Your organisation has ordered nothing from this laboratory.", code="access.not-permitted")
    ordered = Order.objects.filter(
        performing_laboratory=laboratory, ordering_organisation__in=actor.organisations(Verb.BREAK_GLASS)
    )
    found: UUID = ordered.exclude(state="draft").order_by("-placed_at").values_list("ordering_organisation_id", flat=True)[0]
    return found


def _found(actor: Actor, asked: Asked) -> Patient | None:
    """The one patient it can be: of two that fit nobody knows which is meant."""
    number = asked.number.strip()
    if not number:
        raise InvalidOrder({"number": ["Give the patient's number, exactly as it stands on his papers."]})
    here = Order.objects.filter(patient=OuterRef("pk"), performing_laboratory=asked.laboratory).exclude(state="draft")
    numbered = PatientIdentifier.objects.filter(value=number, retired_at=None).values("patient")
    fitting = Patient.objects.filter(Exists(here), pk__in=numbered, birth_date=asked.born)
    found = list(fitting.exclude(organisation__in=actor.organisations(Verb.VIEW_ORDER))[:2])
    return found[0] if len(found) == 1 else None
