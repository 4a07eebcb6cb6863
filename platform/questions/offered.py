"""The deployed models that a laboratory may ask, and how much of a sequence each takes."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef

from accounts.models import Organisation
from accounts.roles import Verb
from engine_queue import selectors
from foundation.actor import Actor
from registry.models import Deployment, Inspection, TestVersion


@dataclass(frozen=True)
class Offered:
    """A deployment as somebody chooses it."""

    name: str
    model: str
    precision: str
    served: bool  # a worker that lives has it loaded
    context: int | None = None  # tokens; None: no engine has said so yet
    before: int = 1  # tokens that stand before every sequence
    token_bases: int | None = None  # None: tokens differ, or no engine has said so yet

    def longest(self, kind: str, generated: int = 0) -> int | None:
        """Bases of the longest sequence that can be asked about; None: not known before the engine sees it."""
        if self.context is None or self.token_bases is None:
            return None
        spare = {"score": 1, "embed": 0, "continue": 1 - self.tokens(generated)}[kind]
        return max(0, (self.context + spare - self.before) * self.token_bases)

    def tokens(self, bases: int) -> int:
        """Of as many bases, or at most where tokens differ in width."""
        return -(-bases // (self.token_bases or 1))


def laboratories(actor: Actor) -> list[Organisation]:
    """Those for which this person may ask."""
    return list(Organisation.objects.filter(is_laboratory=True, pk__in=actor.organisations(Verb.ASK)).order_by("name"))


def deployments(laboratories: Collection[UUID]) -> list[Offered]:
    """What one of these laboratories has tests on, and what no laboratory has any on; served ones first."""
    offered = TestVersion.objects.filter(deployment_id=OuterRef("pk"))
    ours = offered.filter(definition__laboratory_id__in=list(laboratories))
    rows = Deployment.objects.filter(Exists(ours) | ~Exists(offered)).select_related("model_version").order_by("name")
    workers = [worker for worker in selectors.workers() if worker.alive]
    served = {name for worker in workers for name in worker.deployments}
    made = [_offered(row, takes, row.name in served) for row, takes in zip(rows, _takes(rows), strict=True)]
    return sorted(made, key=lambda one: not one.served)


def _takes(rows: Iterable[Deployment]) -> list[dict[str, Any]]:
    """What a worker said of each when it was last seen; else what was found when its model was registered."""
    told = selectors.takes()
    found = {row.model_version_id: row.found for row in Inspection.objects.order_by("pk")}
    return [told.get(row.name) or found.get(row.model_version_id, {}) for row in rows]


def _offered(row: Deployment, takes: dict[str, Any], served: bool) -> Offered:
    return Offered(
        row.name, str(row.model_version), row.precision, served, takes.get("context"), takes.get("before", 1),
        takes.get("token_bases"),
    )  # fmt: skip
