"""The page of the audit chain: when it was last found whole, what was found, what waits, and every check there was."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from accounts.roles import Verb
from audit import standing
from dashboard.wording import duration
from foundation.actor import Actor
from oversight import checks, telling
from oversight.models import Check

SHOWN = 30  # checks of the history
_LOST = timedelta(seconds=30)  # after which a check that waits is told to wait behind other work
_MARKS = {"good": "ok", "broken": "stat", "incomplete": "asap", "failed": "asap", "waiting": "routine", "running": "urgent"}
_WORDS = {
    "good": "good", "broken": "broken", "incomplete": "incomplete", "failed": "not carried out", "waiting": "waits",
    "running": "runs",
}  # fmt: skip
_SIGNS = {"good": "●", "broken": "▲", "incomplete": "▲", "failed": "▲", "waiting": "○", "running": "◐"}


@dataclass(frozen=True)
class Line:
    """One check as a person reads it."""

    check: Check
    state: str
    mark: str
    sign: str
    took: str
    links: int
    anchors: int
    late: int
    longest: str
    found: int
    findings: list[Mapping[str, str]] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many findings are counted and not kept."""
        return self.found - len(self.findings)


def page() -> dict[str, Any]:
    """All of it."""
    rows = [_line(one) for one in checks.history()[: SHOWN + 1]]
    ended = [one for one in rows if one.check.ended_at is not None]
    sure = next((one for one in ended if one.check.state in ("good", "broken")), None)  # what was not carried out hides it not
    good = checks.newest("good")
    now = standing.standing()
    running = next((one for one in rows if one.check.state in Check.OPEN), None)
    return {
        "standing": now, "alarms": [*now.alarms, *filter(None, [telling.unchecked()])], "unsealed_age": _age(now.oldest, now.now),
        "anchor_age": _age(now.sealing.anchored_at, now.now),
        "good": _line(good) if good is not None else None, "last": sure or (ended[0] if ended else None), "running": running,
        "behind": running is not None and running.check.state == "waiting" and now.now - running.check.asked_at > _LOST,
        "percent": _percent(running), "history": rows[:SHOWN], "older": len(rows) > SHOWN,
    }  # fmt: skip


def alarm(actor: Actor) -> str:
    """What every page of somebody who may look at audit trails says on top; blank where nothing is wrong, or for others."""
    if not actor.organisations(Verb.VIEW_AUDIT):
        return ""
    last = checks.newest("good", "broken")
    if last is not None and last.state == "broken":
        return "The audit trail is not as it was sealed."
    return standing.alarm() or telling.unchecked()


def _line(check: Check) -> Line:
    seen = check.seen
    took = duration(float(seen["seconds"])) if "seconds" in seen else ""
    return Line(
        check, _WORDS[check.state], _MARKS[check.state], _SIGNS[check.state], took, int(seen.get("links", 0)),
        int(seen.get("anchors", 0)), int(seen.get("late", 0)), duration(float(seen.get("latest_seconds", 0))),
        int(seen.get("found", 0)), list(checks.findings(seen)),
    )  # fmt: skip


def _percent(line: Line | None) -> int:
    return min(99, 100 * line.check.done // line.check.whole) if line is not None and line.check.whole else 0


def _age(since: datetime | None, now: datetime) -> str:
    return duration(max(0.0, (now - since).total_seconds())) if since is not None else ""
