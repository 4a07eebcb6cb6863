"""Each result leaves a narrow row in its own transaction, and what goes wrong with that costs no result."""

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from drift import recording
from drift.models import Missing, Request
from engine_queue import settling
from engine_queue.models import Result, Run
from engine_queue.outcomes import Fact
from engine_queue.work import ItemScore
from foundation import clock
from tests.drift.rows import fill, today
from tests.engine_queue.rows import in_thread_of_its_own, make_run, scored, scores_of, taken
from tests.factories import make_order, make_test_version


def owner() -> psycopg.Connection:
    from django.db import connections

    settings = connections.settings["owner"]
    return psycopg.connect(
        dbname=connections.settings["default"]["NAME"], user=settings["USER"], password=settings["PASSWORD"],
        host=settings["HOST"], port=settings["PORT"], autocommit=True,
    )  # fmt: skip


@pytest.mark.django_db
def test_each_result_of_an_order_leaves_a_narrow_row_without_what_it_says_of_whom() -> None:
    order = make_order(variants=3, priority="urgent")
    claimed = taken()
    first, second, third = scores_of(claimed)
    scores = [
        ItemScore(first.item_id, ll_ref=-64 * math.log(4), ll_alt=-90.0, delta=-1.5, tokens=65, bases=64, flags=("window.cut",)),
        ItemScore(second.item_id, failure="item.row-failed"),
        ItemScore(third.item_id, ll_ref=-10.0, ll_alt=-9.0, delta=1.0, tokens=65),
    ]
    settling.settle(scored(claimed, scores=scores))
    run, rows = Run.objects.get(), list(Request.objects.order_by("result_id"))
    assert [(row.result_id, row.at) for row in rows] == list(Result.objects.order_by("pk").values_list("pk", "created_at"))
    said = [(row.delta, row.bases, row.flags, row.failed) for row in rows]
    assert said == [(-1.5, 64, 1, False), (None, None, 0, True), (1.0, None, 0, False)]
    assert [row.bits for row in rows] == [pytest.approx(2.0), None, None]
    one = rows[0]
    assert (one.organisation_id, one.site_id, one.kind) == (order.performing_laboratory_id, order.ordering_site_id, "clinical")
    assert (one.test_version_id, one.model_version_id, one.deployment_id) == (
        run.test_version_id, run.model_version_id, run.deployment_id,
    )  # fmt: skip
    assert (one.tier, one.worker) == (2, "worker")
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(pg_column_size(q)) FROM drift_request q")
        assert cursor.fetchone()[0] <= 200


@pytest.mark.django_db
def test_a_question_is_marked_by_its_kind_and_its_own_bits() -> None:
    make_run(items=1)
    claimed = taken()
    [score] = scores_of(claimed)
    settling.settle(scored(claimed, scores=[ItemScore(score.item_id, ll_alt=-3 * math.log(2), tokens=4, bases=3)]))
    assert Request.objects.values_list("kind", "delta", "bits", "site_id").get() == ("question", None, pytest.approx(1.0), None)


def test_an_order_finishes_without_a_place_for_its_rows_and_the_gap_shows(clone_db: str) -> None:
    make_order(variants=1)
    with owner() as connected:
        connected.execute(f"DROP TABLE drift_request_{today():%Y%m%d}; DROP TABLE drift_request_default")
        settling.settle(scored(taken()))
        assert Run.objects.get().state == "scored" and not Request.objects.exists()
        assert Missing.objects.values_list("number", "kind", "deployment_id", "why").get()[:2] == (1, "clinical")
        connected.execute("REVOKE INSERT ON drift_missing FROM helicase_app")
        make_order(variants=2)
        settling.settle(scored(taken()))
        assert set(Run.objects.values_list("state", flat=True)) == {"scored"} and Missing.objects.count() == 1
        assert connected.execute("SELECT last_value, is_called FROM drift_unwritten").fetchone() == (1, True)


def test_partitions_are_made_ahead_filled_from_the_default_one_and_dropped_past_their_time(clone_db: str) -> None:
    test = make_test_version()
    day = today() + timedelta(days=30)  # without a partition
    fill(test, datetime(day.year, day.month, day.day, 5, tzinfo=UTC), 40)
    fill(test, clock.now(), 10, first=100)
    with owner() as connected:
        assert connected.execute("SELECT count(*) FROM drift_request_default").fetchone() == (40,)
        call_command("drift_partitions", verbosity=0)
        assert connected.execute("SELECT count(*) FROM drift_request_default").fetchone() == (0,)
        assert Request.objects.count() == 50
        names = connected.execute("SELECT relname FROM pg_class WHERE relname ~ '^drift_request_[0-9]+$' ORDER BY 1").fetchall()
        assert names[0] == (f"drift_request_{today():%Y%m%d}",) and len(names) == 16
        call_command("drift_partitions", verbosity=0)
        again = connected.execute("SELECT relname FROM pg_class WHERE relname ~ '^drift_request_[0-9]+$' ORDER BY 1").fetchall()
        assert again == names and Request.objects.count() == 50


def test_partitions_are_kept_while_rows_are_written_and_none_is_lost(clone_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits to be written into the default partition, while its day gets one of its own, is written there."""
    run, now, ended = make_run(items=1), clock.now(), Event()
    later = now + timedelta(days=20)

    def write() -> int:
        number = 0
        while not ended.is_set():
            number += 1
            results = [Result(pk=number, created_at=later, tokens=1, flags=[], ll_alt=-1.0, bases=1)]
            recording.hear(Fact("results", run, run.jobs.get(), results, worker="test"))
        return number

    with ThreadPoolExecutor(1) as writer:
        written = writer.submit(in_thread_of_its_own, write)
        monkeypatch.setattr(clock, "_source", lambda: now + timedelta(days=10))
        call_command("drift_partitions", verbosity=0)
        ended.set()
        assert written.result() == Request.objects.count() and not Missing.objects.exists()
    monkeypatch.setattr(clock, "_source", lambda: now + timedelta(days=60))
    call_command("drift_partitions", verbosity=0)
    assert Request.objects.count() == 0
