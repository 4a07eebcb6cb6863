"""Every figure is named once, explained, and counted from what happened."""

from __future__ import annotations

import dataclasses
import json
import math

from engine import metrics
from engine.batch import Batch, RowOutput
from engine.config import EngineConfig
from engine.errors import NonFinite
from engine.loop import EngineLoop
from engine.metrics import METRICS, Histogram, RequestMeter
from engine.request import REFERENCE, Branch, Generate, Outcome, Priority, Request, Score
from tests.engine.driving import echo
from tests.engine.test_loop import WAIT, Plain, Waiting, loop_for
from tests.services import ROOT

WINDOW = (1, *range(3, 7)) * 12


def ran(*requests: Request, run: Plain | None = None) -> dict[str, float]:
    """The figures after these requests."""
    loop, ended = loop_for(run or Plain()), Waiting()
    for request in requests:
        loop.submit(request, priority=Priority.URGENT, on_outcome=ended)
    ended.all(len(requests))
    assert loop.stop(drain=True, timeout=WAIT)
    return loop.stats()


def test_what_an_engine_says_is_exactly_what_is_explained() -> None:
    stats = ran(Score((1, 2, 3)))
    assert set(stats) == metrics.NAMES
    assert len(metrics.NAMES) == len(METRICS)
    assert all(type(value) in (int, float) and math.isfinite(value) for value in stats.values())
    json.dumps(stats)


def test_each_has_a_unit_and_words() -> None:
    assert [m.name for m in METRICS if not m.unit or len(m.help) < 8 or "{" in m.help] == []


def test_tokens_are_counted_by_what_they_were_computed_for() -> None:
    alternates = [Score(WINDOW, REFERENCE, Branch(at, (6,) * (len(WINDOW) - at))) for at in (20, 30)]
    stats = ran(Score((1,) * 41), Generate((1, 3, 4), limit=5), *alternates)
    assert stats["tokens_chunk"] == 40 + 3
    assert stats["tokens_decode"] == 4
    assert stats["tokens_trunk"] == 30
    assert stats["tokens_branch"] == sum(len(WINDOW) - 1 - at for at in (20, 30))
    assert (
        sum(
            value
            for name, value in stats.items()
            if name.startswith("tokens_") and name.split("_")[1] in ("chunk", "decode", "trunk", "branch")
        )
        == stats["tokens"]
    )


def test_rows_that_fail_and_requests_that_end_are_counted() -> None:
    def half(batch: Batch) -> list[RowOutput]:
        return [
            RowOutput(error=NonFinite()) if row.tokens[0] == 7 else output
            for row, output in zip(batch.rows, echo(batch), strict=True)
        ]

    stats = ran(Score((7, 1, 1)), Score((1, 1, 1)), Score((1,)), run=Plain(half))
    assert (stats["rows_failed"], stats["failed"], stats["finished"]) == (1, 2, 1)
    assert (stats["ended_urgent"], stats["ended_stat"]) == (2, 0)  # the refused one never started
    assert stats["step_seconds_le_inf"] == stats["steps"]
    assert stats["queue_wait_seconds_urgent_le_inf"] == 2


def test_buckets_grow_with_their_bounds() -> None:
    histogram = Histogram((1.0, 2.0, math.inf))
    for value in (0.5, 1.0, 1.5, 99.0):
        histogram.observe(value)
    assert histogram.values("x") == {"x_le_1": 2, "x_le_2": 3, "x_le_inf": 4}
    assert histogram.total == 102.0


def test_waiting_and_service_are_kept_apart_by_class() -> None:
    meter = RequestMeter()
    outcome = Outcome(1, "finished", None, None, queued_at=10.0, started_at=12.5, finished_at=20.0, steps=3)
    meter.ended(Priority.STAT, outcome)
    meter.ended(Priority.ROUTINE, dataclasses.replace(outcome, queued_at=13.0))  # a clock that was set back
    values = meter.values()
    assert (values["queue_wait_seconds_sum_stat"], values["service_seconds_sum_stat"]) == (2.5, 7.5)
    assert values["queue_wait_seconds_sum_routine"] == 0.0
    assert (values["queue_wait_seconds_stat_le_1"], values["queue_wait_seconds_stat_le_10"]) == (0, 1)


def test_a_shortage_of_memory_halves_the_budget_and_is_counted() -> None:
    def short(batch: Batch) -> list[RowOutput]:
        return [dataclasses.replace(output, short=True) for output in echo(batch)]

    stats = ran(Score((1,) * 60), run=Plain(short))
    assert stats["shortages"] == stats["steps"] > 1
    assert stats["budget"] == EngineConfig().grid
    assert isinstance(loop_for(Plain()), EngineLoop)


def test_the_page_for_engineers_holds_the_table() -> None:
    page = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    assert metrics.table() in page, f"the table of docs/engine.md should be:\n{metrics.table()}"
