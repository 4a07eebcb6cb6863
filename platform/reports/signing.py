"""Sign a report version: over its content, by a person who has just proven who he is; the last signature issues it."""

from collections.abc import Sequence

from django.db import transaction

from accounts.models import StepUp
from accounts.roles import Verb
from accounts.step_up import About
from audit import services as audit
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused, Stale
from orders import hints
from orders.machines import ORDER
from orders.models import Order
from reports import issuing, making, release, services
from reports.models import Meaning, ReportVersion, Signature


class NotWaiting(Refused):
    """This version does not wait for signatures any more."""


class FactsChanged(Stale):
    """Something that this version says is no longer so. It is discarded, with what was signed on it: review the order again."""


def about(version: ReportVersion) -> About:
    """What a person proves himself for."""
    return About(version, version.content_sha256, version.performing_laboratory_id)


def open_to(actor: Actor, version: ReportVersion) -> Meaning | None:
    """The meaning by which this person may sign next; None: not he, or nobody now."""
    left = release.missing(version) if version.state == "draft" else ()
    return left[0] if left and not objections(actor, version, left[0]) else None


def objections(actor: Actor, version: ReportVersion, meaning: Meaning) -> Sequence[str]:
    """Why this person may not sign with this meaning, in words; nothing: he may."""
    two = release.signers(version) == 2 and meaning != Meaning.PRELIMINARY
    found = []
    if not actor.may(_verb(meaning, two), version.performing_laboratory_id):
        found.append("Your role does not include this signature.")
    if two and version.author_id is not None and version.author_id == actor.id:
        found.append("You wrote the interpretation: two other people sign.")
    if version.signatures.filter(signer_id=actor.id).exists():
        found.append("You have signed already: the other signature is another person’s.")
    return found


def sign(*, version: ReportVersion, meaning: Meaning, actor: Actor, proof: StepUp) -> ReportVersion:
    """Sign. Raises `NotWaiting`, `NotPermitted`, `FactsChanged`, and `NotReleasable` where the last one cannot issue it.

    The proof is spent by the database, with the row. Facts that have changed discard the version, for good.
    """
    with transaction.atomic():
        order = Order.objects.select_for_update().get(pk=version.order_id)
        locked = ReportVersion.objects.select_for_update(of=("self",)).select_related("run__test_version").get(pk=version.pk)
        locked.order = order
        fresh = _check(locked, order, meaning, actor)
        if fresh:
            _write(locked, meaning, actor, proof)
            _go_on(locked, order, actor)
        else:
            making.take_back(order, actor, "report.facts-changed")
    if not fresh:
        raise FactsChanged(code="report.facts-changed")
    return locked


def _check(version: ReportVersion, order: Order, meaning: Meaning, actor: Actor) -> bool:
    left = release.missing(version) if version.state == "draft" else ()
    if meaning not in left:
        raise NotWaiting(code="report.not-waiting")
    found = list(objections(actor, version, meaning))
    if left[0] != meaning:
        found.append("The review is signed before the approval.")
    if found:
        raise NotPermitted(" ".join(found), code="report.not-for-you")
    return not services.changed(version, order)


def _write(version: ReportVersion, meaning: Meaning, actor: Actor, proof: StepUp) -> None:
    organisation = version.performing_laboratory_id
    made = Signature.objects.create(
        organisation_id=organisation, report_version=version, signer_id=proof.user_id, printed_name=actor.name, meaning=meaning,
        content_sha256=version.content_sha256, method=proof.method, step_up=proof,
    )  # fmt: skip
    facts = {
        "order": str(version.order_id), "number": version.number, "meaning": meaning.value, "sha256": version.content_sha256,
        "method": proof.method, "signature": str(made.pk),
    }  # fmt: skip
    audit.record(actor=actor, action="report.signed", obj=version, organisation_id=organisation, facts=facts)


def _go_on(version: ReportVersion, order: Order, actor: Actor) -> None:
    if not release.missing(version):
        issuing.issue(version=version, order=order, actor=actor)
    elif order.state == "awaiting_review":
        audit.transition(ORDER, order, to="awaiting_second_review", actor=actor, edits=order.edits + 1)
        hints.changed(order)


def _verb(meaning: Meaning, two: bool) -> Verb:
    if meaning == Meaning.PRELIMINARY:
        return Verb.RELEASE_PRELIMINARY
    return Verb.SIGN_2 if two and meaning == Meaning.APPROVAL else Verb.SIGN_1
