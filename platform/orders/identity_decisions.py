"""A person decides who the patient of a parked order is. One transaction each; then it runs, or is rejected."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from django.db import IntegrityError, transaction

from accounts.roles import Verb
from accounts.services import require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused, Stale
from foundation.reasons import Reason
from orders import hints, identity, needs, patients, services
from orders.errors import InvalidOrder
from orders.machines import IDENTITY_CHECK
from orders.models import IdentityCheck, Order, Patient, PatientIdentifier
from orders.moving import move
from orders.remarks import remark
from orders.requests import OtherNumber, PatientDetails

MISSING = "Say how you know: it is kept with the order, under your name."


class Settled(Refused):
    """Somebody has settled this question already, or the order has ended."""


def stated(order: Order) -> PatientDetails:
    """The patient as the order states him."""
    said = {**order.stated, "birth_date": date.fromisoformat(order.stated["birth_date"])}
    others = tuple(OtherNumber(**one) for one in said.pop("others", ()))
    return PatientDetails(**said, others=others)


def statement_wrong(*, check: IdentityCheck, words: str, actor: Actor, expected: tuple[int, int]) -> None:
    """It is the known patient, and the order stated something wrong: the order goes to his record, which stays as it is.

    `expected` is what the person saw: the version of the check and the edits of the known record. Raises `NotPermitted`,
    `InvalidOrder`, `Settled` or `Stale`; so do the others.
    """
    with transaction.atomic():
        order, asked, known, said = _open(check, words, actor, expected)
        _settle(order, asked, Reason.IDENTITY_STATEMENT_WRONG, said, actor, known)


def record_wrong(*, check: IdentityCheck, fields: Iterable[str], words: str, actor: Actor, expected: tuple[int, int]) -> None:
    """It is the known patient, and his record was wrong: it takes these fields from the statement, and keeps what it said."""
    with transaction.atomic():
        order, asked, known, said = _open(check, words, actor, expected)
        if not actor.may(Verb.EDIT_IDENTITY, known.organisation_id):
            raise NotPermitted(
                "This record belongs to another organisation: only its people correct it.", code="access.not-permitted"
            )
        details = stated(order)
        wrong = [field for field in identity.differences(known, details) if field in set(fields)]
        if not wrong:
            raise InvalidOrder({"fields": ["Choose what of the record was wrong."]})
        values = {name: value.strip() if isinstance(value := getattr(details, name), str) else value for name in wrong}
        _transit(asked, "settled", Reason.IDENTITY_RECORD_WRONG, said, actor)
        patients.correct(known, values, words=said, actor=actor, check=asked)
        _run(order, asked, Reason.IDENTITY_RECORD_WRONG, actor, known)


def another_person(
    *, check: IdentityCheck, system: str, number: str, words: str, actor: Actor, expected: tuple[int, int]
) -> IdentityCheck | None:
    """It is another person, with this number. Where that one is known with other details too, the question is asked again.

    Returns the new question, or None: the order runs.
    """
    value = patients.plain(number, "number", "The right number", 80)
    named = patients.plain(system, "system", "The system", 120, required=False)
    with transaction.atomic():
        order, asked, known, said = _open(check, words, actor, expected)
        holder = identity.holder(order.ordering_organisation_id, named, value)
        if holder is not None and holder.pk == known.pk and _in_use(order, named, value):
            raise InvalidOrder({"number": ["That is a number of the known record. Type the one of the other person."]})
        if holder is None or holder.pk == known.pk:
            _give_number(order, named, value, actor)
            _settle(order, asked, Reason.IDENTITY_ANOTHER, said, actor, None)
            return None
        _transit(asked, "asked_again", Reason.IDENTITY_ASKED_AGAIN, said, actor)
        again = identity.ask(order, holder)
        if identity.same(holder, stated(order)):
            _settle(order, again, Reason.IDENTITY_ANOTHER, said, actor, holder)
            return None
        _seen(order, Reason.IDENTITY_ASKED_AGAIN, actor, again)
        return again


def reject(*, check: IdentityCheck, words: str, actor: Actor, expected: tuple[int, int]) -> None:
    """Who it is cannot be settled: the order is rejected."""
    with transaction.atomic():
        order, asked, _, said = _open(check, words, actor, expected)
        _transit(asked, "rejected", Reason.IDENTITY_REJECTED, said, actor)
        changes = {"ended_at": clock.now(), "cancelled_reason": said, "edits": order.edits + 1}
        services.end(order, to="rejected", actor=actor, reason=str(Reason.IDENTITY_REJECTED), **changes)


def _open(check: IdentityCheck, words: str, actor: Actor, expected: tuple[int, int]) -> tuple[Order, IdentityCheck, Patient, str]:
    """Order, question and known record, locked in this order, and the words. Raises unless all are as they were seen."""
    require(actor, Verb.EDIT_IDENTITY, check.ordering_organisation_id, check.performing_laboratory_id)
    said = remark(words, field="words", missing=MISSING)
    order = (
        Order.objects.select_for_update(of=("self",))
        .select_related("test_version", "intake", "conflicts_with")
        .get(pk=check.order_id)
    )
    asked = IdentityCheck.objects.select_for_update(of=("self",)).select_related("decided_by").get(pk=check.pk)
    if asked.state != "open":
        raise Settled(_by_whom(asked), code="identity.settled")
    known = patients.lock(asked.known)
    if (asked.version, known.edits) != expected:
        raise Stale(code="state.stale")
    return order, asked, known, said


def _by_whom(check: IdentityCheck) -> str:
    return (
        f"{check.decided_by} has settled this question already."
        if check.decided_by
        else "This order has ended: nothing is to settle."
    )


def _in_use(order: Order, system: str, value: str) -> bool:
    named = identity.system_of(order.ordering_organisation_id, system)
    found = PatientIdentifier.objects.filter(organisation_id=order.ordering_organisation_id, system=named, value=value)
    return bool(found.filter(retired_at=None).exists())


def _give_number(order: Order, system: str, value: str, actor: Actor) -> None:
    """The separate record of the statement gets its number. Raises `Stale` where somebody was a moment faster."""
    home = order.ordering_organisation_id
    try:
        with transaction.atomic():
            PatientIdentifier.objects.create(
                organisation_id=home, patient_id=order.patient_id, system=identity.system_of(home, system), value=value,
                added_by_id=actor.id, added_at=clock.now(),
            )  # fmt: skip
    except IntegrityError as error:
        raise Stale(code="state.stale") from error


def _settle(order: Order, check: IdentityCheck, decision: Reason, words: str, actor: Actor, patient: Patient | None) -> None:
    _transit(check, "settled", decision, words, actor)
    _run(order, check, decision, actor, patient)


def _transit(check: IdentityCheck, to: str, decision: Reason, words: str, actor: Actor) -> None:
    changes: dict[str, Any] = {"decision": str(decision), "words": words, "decided_by_id": actor.id, "decided_at": clock.now()}
    audit.transition(IDENTITY_CHECK, check, to=to, actor=actor, reason=str(decision), **changes)


def _run(order: Order, check: IdentityCheck, decision: Reason, actor: Actor, patient: Patient | None) -> None:
    """Let the order go to its patient and into the line; one that is parked for another reason too stays parked."""
    if patient is not None:
        rows: dict[str, Any] = {"order": [order.pk], "specimen": [order.specimen_id]}
        move(rows, origin=order.patient, target=patient, check=check)
        order.refresh_from_db(fields=["patient", "version", "edits"])
    _seen(order, decision, actor, check)
    if order.conflicts_with is None:
        services.accept(order=order, actor=actor)


def _seen(order: Order, decision: Reason, actor: Actor, check: IdentityCheck) -> None:
    """Write what the order waits for now, its event, and tell open pages."""
    open_again = check if check.state == "open" else None
    if open_again is None:
        needs.settle(order, str(Reason.IDENTITY_MISMATCH))
    waits_for = services.flags(
        order.priority,
        order.stat_reason,
        contradicted=open_again.known if open_again else None,
        conflicts_with=order.conflicts_with,
    )
    needs.add(order, *waits_for)
    order.version, order.edits = order.version + 1, order.edits + 1
    order.save(update_fields=[*needs.COLUMNS, "version", "edits"])
    facts = {"check": check.pk, "patient": str(order.patient_id)}
    audit.record(
        actor=actor, action="order.identity_decided", obj=order, organisation_id=order.performing_laboratory_id,
        reason=str(decision), facts=facts,
    )  # fmt: skip
    hints.changed(order)
