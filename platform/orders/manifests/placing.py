"""Place the valid rows of a manifest: each in a transaction of its own, every order exactly once."""

from collections import deque
from dataclasses import dataclass, field

from django.db import IntegrityError
from django.db.models import QuerySet

from accounts.roles import Verb
from accounts.services import actor_for, require
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotPermitted, Refused
from foundation.reasons import Reason
from orders import services
from orders.errors import InvalidOrder
from orders.machines import MANIFEST
from orders.manifests import claims
from orders.manifests.checking import ACTOR, MOST_TRIES, content_hash, placed_before, request_of, tell_before
from orders.manifests.columns import column_of
from orders.manifests.errors import Objection, objection
from orders.manifests.finding import Directory
from orders.models import Manifest, ManifestRow
from orders.requests import OrderRequest

AHEAD = 50  # rows read in one go


class Changed(Refused):
    """A site or a provider that this row names has changed since it was checked. Send the row again."""


@dataclass
class Line:
    """The rows of a manifest that wait, and those of them that were read ahead."""

    manifest: Manifest
    ahead: deque[ManifestRow] = field(default_factory=deque)
    known: dict[str, ManifestRow] = field(default_factory=dict)  # by content, what earlier manifests had placed by then
    directory: Directory = field(init=False)

    def next(self) -> ManifestRow | None:
        """The most urgent row that waits. Its state is nobody else's to change while the claim holds."""
        if not self.ahead:
            self.ahead.extend(_rows(self.manifest).filter(state="valid").order_by("rank", "number")[:AHEAD])
            self.known = placed_before(self.manifest, [row.content_hash for row in self.ahead])
            self.directory = Directory.of(self.manifest)
        return self.ahead.popleft() if self.ahead else None


def place_next(line: Line) -> bool:
    """Place the most urgent row that waits; False when none is left, or its person may not place any more."""
    manifest = line.manifest
    actor = actor_for(manifest.placed_by) if manifest.placed_by else None
    row = line.next()
    if actor is None or row is None:
        _finish(manifest, actor)
        return False
    try:
        require(actor, Verb.PLACE, manifest.ordering_organisation_id)
    except NotPermitted:
        _stop(manifest, actor)
        return False
    if manifest.tries > MOST_TRIES:
        manifest.tries = 0
        _object(manifest, row, [objection("", Reason.INTAKE_CHECK_FAILED)])
        return True
    try:
        _place_or_look_again(line, row, actor)
    except InvalidOrder as error:
        said = [Objection(column_of(name), words, error.code) for name, each in error.fields.items() for words in each]
        _object(manifest, row, said)
    except Refused as error:
        _object(manifest, row, [Objection("", str(error), error.code)])
    return True


def _place_or_look_again(line: Line, row: ManifestRow, actor: Actor) -> None:
    try:
        _place(line, row, actor)
    except IntegrityError:  # the same row of another manifest was placed since we looked
        line.known |= placed_before(line.manifest, [row.content_hash])
        _place(line, _rows(line.manifest).get(pk=row.pk), actor)


def _rows(manifest: Manifest) -> QuerySet[ManifestRow]:
    return manifest.rows.select_related("intake__test_version", "file").defer(
        "intake__facts", "intake__problems", "intake__test_version__protocol", "intake__test_version__limitations"
    )


def _place(line: Line, row: ManifestRow, actor: Actor) -> None:
    """Order and row in one transaction: whoever is killed in it leaves neither."""
    manifest, known = line.manifest, line.known.get(row.content_hash)
    with claims.ours(manifest, settles=True):
        if known is not None:
            tell_before(row, known)
        else:
            order = services.place(actor=actor, request=_as_checked(line, row))
            row.state, row.order, row.settled_at = "placed", order, clock.now()
            if order.intake_id != row.intake_id:  # its number was placed by another door, with the same content
                row.state = "before"
                row.objections = [objection("", Reason.MANIFEST_PLACED_BEFORE, accession=order.accession).as_json()]
        row.save(update_fields=["state", "objections", "order", "settled_at"])


def _as_checked(line: Line, row: ManifestRow) -> OrderRequest:
    """What the row asks for. Raises `Changed` where that is no longer what its verdict was given on."""
    read = request_of(row, line.directory, line.manifest, row.intake.performing_laboratory_id if row.intake else None)
    test = row.intake.test_version if row.intake else None
    if read.objections or test is None or content_hash(read.request, row, str(test.definition_id)) != row.content_hash:
        raise Changed(code="manifest.changed")
    return read.request


def _object(manifest: Manifest, row: ManifestRow, said: list[Objection]) -> None:
    with claims.ours(manifest, settles=True):
        row.state, row.objections, row.settled_at = "refused", [each.as_json() for each in said], clock.now()
        row.save(update_fields=["state", "objections", "settled_at"])


def _finish(manifest: Manifest, actor: Actor | None) -> None:
    with claims.ours(manifest):
        audit.transition(MANIFEST, manifest, to="placed", actor=actor or ACTOR, ended_at=clock.now(), claim=None)


def _stop(manifest: Manifest, actor: Actor) -> None:
    said = {"code": str(Reason.MANIFEST_NOT_PERMITTED), "words": Reason.MANIFEST_NOT_PERMITTED.words, "fatal": False}
    with claims.ours(manifest):
        reason, problems = str(Reason.MANIFEST_NOT_PERMITTED), [*manifest.problems, said]
        audit.transition(MANIFEST, manifest, to="stopped", actor=actor, reason=reason, problems=problems, claim=None)
