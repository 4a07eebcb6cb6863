"""Open by break-glass, end it, review it: the rows. Whose reports those are, `orders.emergency` finds out."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction

from accounts import step_up
from accounts.break_glass_models import LASTS, BreakGlass, Ended, Kind
from accounts.models import StepUp, User
from accounts.roles import Verb
from accounts.services import require
from accounts.step_up import About
from audit import services as audit
from audit.models import Event
from foundation import clock
from foundation.actor import NOBODY, Actor, Opened, process
from foundation.errors import Refused, Stale

MISSES, WITHIN = 5, timedelta(minutes=60)
MISSED = "break_glass.missed"


class OpenAlready(Refused):
    """You have a patient open by break-glass already. End that first."""


class TooManyMisses(Refused):
    """Five times within an hour no patient was found by what you gave. Wait, or call the laboratory; its auditors can see it."""


@dataclass(frozen=True)
class Whose:
    """Whose reports are opened: a patient of an organisation, at a laboratory; for somebody of another organisation."""

    organisation: UUID
    laboratory: UUID
    patient: UUID
    patient_organisation: UUID

    @property
    def audited(self) -> list[UUID]:
        """The organisations whose auditors see it."""
        return sorted({self.laboratory, self.patient_organisation, self.organisation})


def opened(user: User, actor: Actor) -> Opened | None:
    """What this person has open now. It ends with its time, and with the role that allowed it."""
    if not actor.organisations(Verb.BREAK_GLASS):
        return None
    row = BreakGlass.objects.filter(user=user, ended_at=None, until__gt=clock.now()).first()
    if row is None or not actor.may(Verb.BREAK_GLASS, row.organisation_id):
        return None
    return Opened(row.pk, row.patient_id, row.laboratory_id, row.until)


def may_try(actor: Actor) -> None:
    """Raise `TooManyMisses` for somebody who keeps guessing."""
    since = clock.now() - WITHIN
    missed = Event.objects.filter(object_type="accounts.user", object_id=str(actor.id), action=MISSED, at__gt=since)
    if missed.values("facts__try").distinct().count() >= MISSES:
        raise TooManyMisses(code="breakglass.too-many")


def missed(*, actor: Actor, proof: StepUp, laboratory: UUID, organisation: UUID) -> None:
    """Keep that nobody was found by what this person gave, for the auditors of both; never what he gave."""
    user = User.objects.get(pk=actor.id or NOBODY)
    with transaction.atomic():
        audit.record_all(
            audit.event(actor=actor, action=MISSED, obj=user, organisation_id=one, facts={"try": str(proof.pk)})
            for one in sorted({laboratory, organisation})
        )


def open_one(*, actor: Actor, whose: Whose, kind: Kind, words: str, proof: StepUp, about: About) -> BreakGlass:
    """Open it for an hour, with its event. Inside the caller's transaction. Raises `OpenAlready` and `NotProven`."""
    require(actor, Verb.BREAK_GLASS, whose.organisation)
    user, now = User.objects.select_for_update().get(pk=actor.id or NOBODY), clock.now()
    close_ended(user)
    if BreakGlass.objects.filter(user=user, ended_at=None).exists():
        raise OpenAlready(code="breakglass.open-already")
    step_up.spend(proof, actor=actor, about=about)
    made = BreakGlass.objects.create(
        user=user, organisation_id=whose.organisation, laboratory_id=whose.laboratory, patient_id=whose.patient,
        patient_organisation_id=whose.patient_organisation, kind=kind, words=words, proof=proof, opened_at=now, until=now + LASTS,
    )  # fmt: skip
    facts = {"patient": str(whose.patient), "until": made.until.isoformat(), "grant": str(made.pk)}
    audit.record_all(
        audit.event(actor=actor, action="break_glass.opened", obj=made, organisation_id=one, reason=kind, facts=facts)
        for one in whose.audited
    )
    return made


def end(*, actor: Actor) -> None:
    """The person ends what he has open; nothing where that is nothing."""
    with transaction.atomic():
        now = clock.now()
        for row in BreakGlass.objects.select_for_update().filter(user=actor.id, ended_at=None, until__gt=now):
            _ended(row, Ended.BY_THE_PERSON, actor)


def close_ended(user: User | None = None) -> int:
    """Write the end of those whose time is over: of one person, or of all. How many there were."""
    with transaction.atomic():
        over = BreakGlass.objects.select_for_update(skip_locked=True).filter(ended_at=None, until__lte=clock.now())
        rows = list(over.filter(user=user) if user else over)
        for row in rows:
            _ended(row, Ended.BY_ITSELF, process("break-glass"))
    return len(rows)


def review(*, actor: Actor, grant: BreakGlass, justified: bool, words: str) -> None:
    """Say, once and in words, whether it was justified. Raises `Refused` of one's own or an open one, `Stale` of one reviewed."""
    require(actor, Verb.VIEW_AUDIT, grant.laboratory_id)
    if grant.user_id == actor.id:
        raise Refused("It was you who opened it: another person reviews it.", code="breakglass.own")
    if grant.is_open(clock.now()):
        raise Refused("It is still open: review it when it has ended.", code="breakglass.still-open")
    said = {"reviewed_at": clock.now(), "reviewed_by_id": actor.id, "justified": justified, "review_words": words}
    with transaction.atomic():
        if not BreakGlass.objects.filter(pk=grant.pk, reviewed_at=None).update(**said):
            raise Stale("Somebody else has reviewed it. Look at it again.", code="state.stale")
        _told(grant, "break_glass.reviewed", actor, {"justified": justified})


def _ended(row: BreakGlass, how: Ended, actor: Actor) -> None:
    row.ended_at, row.ended_how = min(clock.now(), row.until), how
    row.save(update_fields=["ended_at", "ended_how"])
    _told(row, "break_glass.ended", actor, {"how": how.value})


def _told(row: BreakGlass, action: str, actor: Actor, facts: dict[str, object]) -> None:
    whose = Whose(row.organisation_id, row.laboratory_id, row.patient_id, row.patient_organisation_id)
    said = {"grant": str(row.pk), **facts}
    audit.record_all(audit.event(actor=actor, action=action, obj=row, organisation_id=one, facts=said) for one in whose.audited)
