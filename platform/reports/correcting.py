"""Correct or amend a report that was issued: another version with a reason, signed like the first; what stood stays readable."""

from uuid import UUID

from django.db import transaction

from accounts.roles import Verb
from accounts.services import require
from foundation.actor import Actor
from foundation.errors import Refused, Stale
from orders.models import Order
from orders.remarks import LONG, remark
from reports import interpreting, making, release
from reports.models import ReportKind, ReportVersion
from reports.reviewing import NotValidated

KINDS = {"corrected": ReportKind.CORRECTED, "amended": ReportKind.AMENDED}
MISSING = "Say what was wrong, or what is added: it stands on the report."


class NothingStands(Refused):
    """No report of this order stands that could be corrected; a preliminary one is followed by the report itself."""


def correctable(order: Order) -> ReportVersion | None:
    """The report that stands and can be corrected."""
    version = release.released_version(order)
    return version if version is not None and version.kind != ReportKind.PRELIMINARY and order.state == "reported" else None


def correct(*, order: Order, actor: Actor, kind: str, reason: str, text: str, edit: int, standing: UUID) -> ReportVersion:
    """Make the corrected or amended version, to be signed. `standing` and `edit` are the report and the interpretation he saw.

    Raises `NothingStands`, `NotValidated`, `Stale`, `InvalidOrder`, `NotPermitted`.
    """
    require(actor, Verb.CORRECT, order.performing_laboratory_id)
    said = remark(reason, field="reason", most=LONG, missing=MISSING)
    with transaction.atomic():
        locked = Order.objects.select_for_update().get(pk=order.pk)
        stands = correctable(locked)
        if stands is None or kind not in KINDS:
            raise NothingStands(code="report.nothing-stands")
        if stands.pk != standing:
            raise Stale("Another version was issued since you opened the page. Look at it again.", code="state.stale")
        meant = making.kind_for(stands.run, KINDS[kind])
        if meant == KINDS[kind] and not release.validated(stands.run):
            raise NotValidated(code="report.not-validated")
        interpreting.edit(locked, actor, text, edit)
        making.discard_open(locked, actor, "report.corrected-anew")
        return making.make(order=locked, run=stands.run, actor=actor, kind=meant, supersedes=stands, reason=said)
