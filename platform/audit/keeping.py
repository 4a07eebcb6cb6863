"""The sealer's life: one at a time, it seals what was committed, anchors the head, and says how it is getting on."""

from collections.abc import Callable
from datetime import timedelta
from threading import Event as Flag
from time import monotonic
from typing import Any

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from audit import anchors, keys
from audit.models import Sealing
from audit.sealing import Head, Sealer
from foundation import clock

log = structlog.get_logger(__name__)
LOCK = 7_241_008  # advisory, of the session: one seals, others stand by; whoever writes events never asks for it
PAUSE = 0.25  # seconds between two looks for events
STANDBY = 2.0
ANCHORED_EVERY = timedelta(seconds=10)  # while the chain grows …
STILL_EVERY = timedelta(seconds=60)  # … and while it does not, so that silence is noticed
SAID_EVERY = timedelta(seconds=2)
AWAY = (OperationalError, InterfaceError)

_WAITING = """
    SELECT EXISTS (SELECT FROM audit_event e WHERE e.xact >= %s AND NOT EXISTS (SELECT FROM audit_link l WHERE l.event_id = e.id))
"""
_OLDEST = """
    SELECT pid, extract(epoch FROM clock_timestamp() - xact_start)::int FROM pg_stat_activity
    WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid() ORDER BY age(backend_xid) DESC LIMIT 1
"""


def run(stop: Flag, say: Callable[[str], None]) -> None:
    """Seal and anchor until `stop`; stand by while another one does. A database that goes away is waited for."""
    connection.settings_dict["CONN_MAX_AGE"] = None  # the lock lives as long as its connection
    told = ""
    while not stop.is_set():
        try:
            ours = _locked()
            words = "the sealer seals and anchors" if ours else "the sealer stands by: another one is active"
            if words != told:
                say(words)
            told = words
            if ours:
                serve(stop)
            else:
                stop.wait(STANDBY)
        except AWAY as error:
            log.warning("sealer.database_away", error=type(error).__name__)
            connection.close()
            stop.wait(1.0)
    connection.close()


def serve(stop: Flag) -> None:
    """Until `stop`; the head at the end is anchored, too."""
    sealer, anchoring = Sealer.take_up(), Anchoring()
    anchoring.begin(sealer.head)
    while not stop.is_set():
        sealed = sealer.round()
        anchoring.look(sealer)
        if not sealed and sealer.swept:
            stop.wait(PAUSE)
    anchoring.end(sealer)


class Anchoring:
    """When the head is anchored, and what is said of it in the one row of `Sealing`."""

    def __init__(self) -> None:
        self.writer: anchors.Writer | None = None
        self.anchored_at = self.said_at = -1e9
        self.failed = False  # the last anchor could not be written

    def begin(self, head: Head) -> None:
        """Take up the anchors where they end; the very first holds the empty chain. Whatever does not fit is told loudly."""
        try:
            self.writer = anchors.Writer(settings.AUDIT_ANCHORS, keys.signing())
            wrong = self._compared(self.writer, head)
        except OSError as error:
            wrong = f"the folder of the anchors cannot be used: {error.strerror}"
        if wrong:
            self._trouble(wrong)
        self.anchor(head)

    def look(self, sealer: Sealer) -> None:
        """Anchor when it is time; say how it goes every other second."""
        now = monotonic()
        moved = self.writer is None or self.writer.seq != sealer.head.seq
        if now - self.anchored_at >= (ANCHORED_EVERY if moved else STILL_EVERY).total_seconds():
            self.anchor(sealer.head)
        if now - self.said_at >= SAID_EVERY.total_seconds():
            self.said_at = now
            _tell(sealer)

    def end(self, sealer: Sealer) -> None:
        """The last word: where it stood, anchored."""
        if self.writer is not None and self.writer.seq != sealer.head.seq:
            self.anchor(sealer.head)
        _tell(sealer)

    def anchor(self, head: Head) -> None:
        """Write the head down outside the database. What cannot be written is told, and tried again."""
        self.anchored_at = monotonic()
        try:
            if self.writer is None:
                self.writer = anchors.Writer(settings.AUDIT_ANCHORS, keys.signing())
            written = self._written(self.writer, head)
        except OSError as error:
            self.failed = True
            self._trouble(f"the anchor cannot be written: {error.strerror}")
            return
        _say(anchored_at=clock.now(), anchored_seq=head.seq, anchor=written)
        if self.failed:
            self.failed = False
            Sealing.objects.exclude(trouble="").update(trouble_at=clock.now())  # a check looks at what has come of it

    def _written(self, writer: anchors.Writer, head: Head) -> str:
        try:
            return writer.write(head, clock.now())
        except anchors.AnchorsLost as lost:
            self._trouble(f"the anchors are not as they were left: {lost}")
            return writer.write(head, clock.now())

    def _compared(self, writer: anchors.Writer, head: Head) -> str:
        remembered = Sealing.objects.values_list("anchor", flat=True).first()
        if (remembered or head.seq) and writer.seq < 0:
            return "the anchors are gone"
        if remembered and remembered not in writer.recent:
            return "the anchors do not end with what was written last"
        return "the chain is shorter than what was anchored" if writer.seq > head.seq else ""

    def _trouble(self, words: str) -> None:
        """Told again and again it is the same trouble, of the time when it began."""
        log.error("audit.anchors", trouble=words, folder=str(settings.AUDIT_ANCHORS))
        Sealing.objects.exclude(trouble=words[:300]).update(trouble=words[:300], trouble_at=clock.now())


def _locked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


def _tell(sealer: Sealer) -> None:
    _say(looked_at=clock.now(), swept=sealer.swept, held_up=_held_up(sealer))


def _say(**columns: Any) -> None:
    Sealing.objects.update(**columns)


def _held_up(sealer: Sealer) -> str:
    """Behind which open transaction events wait; blank where none waits."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [sealer.frontier])
        if not cursor.fetchone()[0]:
            return ""
        cursor.execute(_OLDEST)
        pid, seconds = cursor.fetchone() or (None, 0)
    return f"database process {pid}, whose transaction has been open for {seconds} s" if pid else "a transaction that is open"
