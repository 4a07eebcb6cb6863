"""What people may see of drift: streams of their own laboratories, and nothing of an order."""

from dataclasses import dataclass
from datetime import UTC, date, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Max, QuerySet, Sum

from accounts.roles import Verb
from drift import partitions
from drift.models import Call, FrozenReference, Missing, Window
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound
from registry.models import TestVersion

LATE = 3  # days without a window, after which a stream is not followed any more
SHOWN = 90  # windows of a stream


@dataclass(frozen=True)
class Stream:
    """A reference with its newest window and the call that is open."""

    reference: FrozenReference
    window: Window | None
    call: Call | None

    @property
    def verdict(self) -> str:
        """Of the newest window; `none` before there is one, `late` where there should be a newer one. An open call stays."""
        if self.call is not None:
            return self.call.window.light
        if self.window is None:
            return "none" if _age(self.reference.until) <= LATE else "late"
        return self.window.verdict if _age(self.window.day) <= LATE else "late"


@dataclass(frozen=True)
class Recording:
    """Whether rows are kept as they should be."""

    missing: int  # results of the last 30 days that were not recorded
    unwritten: int  # gaps that could not be written down either, ever, of the whole installation
    until: date | None  # the last day with a partition


def streams(actor: Actor) -> list[Stream]:
    """Those that count now."""
    references = list(_references(actor).filter(ended_on=None))
    newest = {
        one.reference_id: one
        for one in Window.objects.for_actor(actor)
        .filter(reference__in=references)
        .order_by("reference", "-day")
        .distinct("reference")
    }
    calls = {one.reference_id: one for one in Call.objects.for_actor(actor).exclude(state="closed").select_related("window")}
    return [Stream(one, newest.get(one.pk), calls.get(one.pk)) for one in references]


def stream(actor: Actor, pk: UUID) -> tuple[Stream, list[Window], list[Call]]:
    """One, also one that has ended, with its last windows, the newest first, and its calls. Raises `NotFound`."""
    reference = _references(actor).filter(pk=pk).first()
    if reference is None:
        raise NotFound
    windows = list(Window.objects.for_actor(actor).filter(reference=reference).order_by("-day")[:SHOWN])
    calls = list(Call.objects.for_actor(actor).filter(reference=reference).select_related("window").order_by("-opened_at")[:SHOWN])
    called = next((one for one in calls if one.state != "closed"), None)
    return Stream(reference, windows[0] if windows else None, called), windows, calls


def tests(actor: Actor) -> list[TestVersion]:
    """The newest version of each test whose reference this person may freeze."""
    mine = TestVersion.objects.filter(definition__laboratory__in=actor.organisations(Verb.KEEP_DRIFT))
    newest = dict(mine.values_list("definition").annotate(number=Max("number")))
    found = mine.select_related("definition__laboratory", "deployment__model_version").order_by("definition__name")
    return [one for one in found if newest[one.definition_id] == one.number]


def recording(actor: Actor) -> Recording:
    """How the recording stands."""
    since = clock.now() - timedelta(days=30)
    missing = Missing.objects.for_actor(actor).filter(at__gte=since).aggregate(number=Sum("number"))["number"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM drift_unwritten")
        unwritten = cursor.fetchone()[0]
        days = partitions.existing(cursor)
    return Recording(missing or 0, unwritten, days[-1] if days else None)


def _references(actor: Actor) -> QuerySet[FrozenReference]:
    found = FrozenReference.objects.for_actor(actor).select_related("test_version__definition", "model_version", "deployment")
    return found.order_by("test_version__definition__name", "test_version__number", "deployment_id", "feature")


def _age(day: date) -> int:
    return (clock.now().astimezone(UTC).date() - day).days - 1
