"""How sealing stands now, quickly, for pages and for whoever raises the alarm. It proves nothing: `audit.verifying` does."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from audit.models import Sealing
from foundation import clock

SILENT = timedelta(seconds=60)  # after which what has not happened needs somebody

# Behind the last link, by the index: whoever has a smaller number and no link is found by a check, not here.
_WAITING = """
    WITH last AS (SELECT coalesce((
        SELECT e.xact FROM audit_link l JOIN audit_event e ON e.id = l.event_id ORDER BY l.seq DESC LIMIT 1
    ), 0) AS xact)
    SELECT count(*), min(at) FROM (
        SELECT e.at FROM audit_event e, last
        WHERE e.xact >= last.xact AND NOT EXISTS (SELECT FROM audit_link l WHERE l.event_id = e.id) LIMIT 10000
    ) AS found
"""
_HEAD = "SELECT coalesce(max(seq), 0) FROM audit_link"


@dataclass(frozen=True)
class Standing:
    """What the sealer says of itself, and what the tables say."""

    sealing: Sealing
    links: int
    unsealed: int  # 10,000: so many or more
    oldest: datetime | None
    now: datetime

    @property
    def unanchored(self) -> int:
        """Links since the newest anchor."""
        return max(0, self.links - self.sealing.anchored_seq)

    @property
    def silent(self) -> bool:
        """Whether the sealer has not looked for events lately."""
        return self.sealing.looked_at is None or self.now - self.sealing.looked_at > SILENT

    @property
    def alarms(self) -> list[str]:
        """What needs somebody, in words; the first is the gravest."""
        found = []
        if self.sealing.trouble:
            found.append(f"Anchors of the audit trail: {self.sealing.trouble}.")
        if self.silent:
            found.append("The sealer of the audit trail does not work: new events are not sealed.")
        elif self.oldest is not None and self.now - self.oldest > SILENT:
            behind = f", behind {self.sealing.held_up}" if self.sealing.held_up else ""
            found.append(f"Events of the audit trail have waited to be sealed for more than a minute{behind}.")
        elif self.sealing.anchored_at is None or self.now - self.sealing.anchored_at > 3 * SILENT:
            found.append("The audit trail is sealed and not anchored.")
        return found


def standing() -> Standing:
    """Now."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        unsealed, oldest = cursor.fetchone()
        cursor.execute(_HEAD)
        (links,) = cursor.fetchone()
    return Standing(_sealing(), links, unsealed, oldest, clock.now())


def alarm() -> str:
    """The one line for every page of an auditor; blank where nothing is wrong. Reads one row."""
    known = Standing(_sealing(), 0, 0, None, clock.now())
    return known.alarms[0] if known.alarms else ""


def _sealing() -> Sealing:
    """The one row; where somebody has taken it away, one that says nothing, and so is an alarm."""
    return Sealing.objects.first() or Sealing()
