"""A chain to be manipulated: sixty events of four days in two organisations, sealed and anchored."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from django.db import transaction

from accounts.models import Organisation
from audit import anchors, keys
from audit.sealing import Head, Sealer
from audit.services import record
from audit.verifying import Asked, Outcome, verify
from benchmarks import tampering
from foundation import clock
from foundation.actor import Actor

FIRST_DAY = datetime(2026, 11, 27, 9, tzinfo=UTC)
EVENTS, TRANSACTIONS = 60, 12


def write(number: int = 1, *, organisation: UUID | None = None) -> None:
    """So many events in one transaction."""
    owner = organisation or uuid4()
    with transaction.atomic():
        for n in range(number):
            obj = Organisation(pk=owner)
            record(
                actor=Actor(id=owner, name="Somebody"),
                action="order.viewed",
                obj=obj,
                organisation_id=owner,
                reason="why",
                facts={"n": n, "ü": [1.50]},
            )


def seal(sealer: Sealer | None = None) -> Sealer:
    """Everything that can be sealed now."""
    sealer = sealer or Sealer.take_up()
    while sealer.round() or not sealer.swept:
        pass
    return sealer


def build(folder: Path, organisations: tuple[UUID, UUID]) -> None:
    """Django leads to an empty database of the test's own."""
    source, writer, sealer = clock._source, anchors.Writer(folder, keys.signing()), Sealer.take_up()
    writer.write(Head(), FIRST_DAY - timedelta(hours=1))
    try:
        for n in range(TRANSACTIONS):
            moment = FIRST_DAY + timedelta(hours=8 * n)
            clock._source = lambda moment=moment: moment
            write(EVENTS // TRANSACTIONS, organisation=organisations[n % 2])
            sealer.round()
            writer.write(sealer.head, moment + timedelta(seconds=10))
    finally:
        clock._source = source


@dataclass
class Chain:
    """Where it lies."""

    url: str  # of a superuser
    folder: Path
    organisations: tuple[UUID, UUID]

    @contextmanager
    def tampered(self) -> Iterator[psycopg.Cursor]:
        """A superuser's cursor with triggers off; what he did is undone."""
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            tampering.switch_off(cursor)
            cursor.execute("UPDATE audit_sealing SET swept = true")
            yield cursor
            connection.rollback()

    def check(self, cursor: psycopg.Cursor, *, folder: Path | None = None, asked: Asked | None = None) -> Outcome:
        """As seen a second after the last event."""
        now = FIRST_DAY + timedelta(hours=8 * (TRANSACTIONS - 1), seconds=11)
        return verify(cursor, folder or self.folder, asked or Asked(), now=now)

    def copied(self, to: Path) -> Path:
        """Its anchors, to be changed."""
        return Path(shutil.copytree(self.folder, to))
