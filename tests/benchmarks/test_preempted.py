"""Preempted at points drawn at random, sequences keep their bits; and where they do not, it is counted."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks import models, preempted
from benchmarks.options import Options
from benchmarks.preempting import Way
from engine.batch import Batch, RowOutput
from engine.runner import Runner

SEQUENCES = 200


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few lists of requests, and models that are written for the test."""

    def folder(shape: models.Shape) -> Path:
        place = tmp_path / shape.name
        if not place.exists():
            models.write(shape, place)
        return place

    monkeypatch.setattr(models, "folder", folder)
    monkeypatch.setattr(preempted, "QUICK", SEQUENCES)
    monkeypatch.setattr(preempted, "LISTS", preempted.LISTS[:3])


@pytest.mark.usefixtures("small")
def test_two_hundred_preempted_sequences_have_the_bits_of_one_alone() -> None:
    figures = preempted.preempted(Options(quick=True)).figures
    assert figures["preempted_sequences"] >= SEQUENCES
    assert (figures["bit_differences"], figures["bit_differences_beside"]) == (0, 0)
    assert all(figures[f"sequences_{way.value}"] > 0 for way in Way)


@pytest.mark.usefixtures("small")
def test_control_stat_that_writes_into_blocks_of_the_pass_makes_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    run, stopped = Runner.run, []

    def writing(self: Runner, batch: Batch) -> list[RowOutput] | None:
        if batch.beside:
            (row, *_) = stopped[-1].rows
            batch = dataclasses.replace(batch, rows=[dataclasses.replace(one, blocks=row.blocks, first=0) for one in batch.rows])
        elif not batch.resumes:
            stopped.append(batch)
        return run(self, batch)

    monkeypatch.setattr(Runner, "run", writing)
    monkeypatch.setattr(preempted, "SHAPES", preempted.SHAPES[:1])
    monkeypatch.setattr(preempted, "QUICK", 60)
    assert preempted.preempted(Options(quick=True)).figures["bit_differences"] > 0
