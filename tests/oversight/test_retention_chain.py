"""Retention beside the audit chain, with committed transactions: a worker dies, another goes on, and the chain is whole."""

import sys
from pathlib import Path

import pytest
from django.db import connection

from audit import keys
from audit.anchors import Writer
from audit.models import Event
from audit.sealing import Head, Sealer
from audit.verifying import Asked, verify
from foundation import clock
from orders.models import Order
from oversight import retention
from tests.audit.chain import seal
from tests.oversight.aging import aged
from tests.reports import cases


def test_a_worker_that_dies_in_the_middle_leaves_whole_records_and_the_chain_stays_good(
    clone_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealer, writer = Sealer.take_up(), Writer(tmp_path, keys.signing())
    writer.write(Head(), clock.now())
    orders = [aged(cases.scored_order(), state="cancelled").pk for _ in range(2)]
    seal(sealer)
    with monkeypatch.context() as dying:
        lives, real = iter([True, False]), retention.delete
        dying.setattr(retention, "delete", lambda *record: real(*record) if next(lives) else sys.exit(9))
        with pytest.raises(SystemExit):
            retention.run()
    assert Order.objects.filter(pk__in=orders).count() == 1
    assert retention.run()["orders"] == 1 and not Order.objects.filter(pk__in=orders).exists()
    assert Event.objects.filter(action="retention.deleted").count() == 2
    writer.write(seal(sealer).head, clock.now())
    with connection.cursor() as cursor:
        outcome = verify(cursor, tmp_path, Asked(), now=clock.now())
    assert outcome.verdict == "good", outcome
