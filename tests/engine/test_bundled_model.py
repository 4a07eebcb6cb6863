"""The bundled model through the public interface, from variants to scores."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import EngineConfig, EngineLoop, Outcome, Priority, Protocol, Score, ScoreResult, Variant, combine, load, plan_variant

MODEL = Path(__file__).resolve().parents[2] / "models" / "ecoli-orf-2k"
CONTIG = "".join(random.Random(1).choices("ACGT", k=5000))
PROTOCOL = Protocol(window=2048)

pytestmark = pytest.mark.skipif(not (MODEL / "model.safetensors").exists(), reason="the bundled model is not there")


@pytest.fixture(scope="module")
def loop() -> Iterator[EngineLoop]:
    found = EngineLoop(load(MODEL, config=EngineConfig(poison_free_blocks=True)))
    found.start()
    yield found
    assert found.stop(drain=True, timeout=30)


def _scores(loop: EngineLoop, requests: list[Score], priority: Priority) -> dict[Score, ScoreResult]:
    results: dict[Score, ScoreResult] = {}
    changed = threading.Condition()

    def keep(request: Score, outcome: Outcome) -> None:
        with changed:
            assert isinstance(outcome.result, ScoreResult)
            results[request] = outcome.result
            changed.notify()

    for request in requests:
        loop.submit(request, priority=priority, on_outcome=lambda outcome, request=request: keep(request, outcome))
    with changed:
        assert changed.wait_for(lambda: len(results) == len(requests), 120)
    return results


def test_each_variant_has_the_same_bits_alone_and_in_an_order(loop: EngineLoop) -> None:
    places = [(position, CONTIG[position - 1], alt) for position in (3, 700, 701, 1500, 1995) for alt in "AC"]
    plans = [
        plan_variant(PROTOCOL, Variant(len(CONTIG), *place), lambda start, end: CONTIG[start:end], loop.engine.tokenizer)
        for place in places
    ]
    together = _scores(loop, list({request for plan in plans for request in plan.requests}), Priority.ROUTINE)
    for plan in plans[::3]:
        alone = {request: _scores(loop, [request], Priority.STAT)[request] for request in set(plan.requests)}
        assert combine(plan, [alone[request] for request in plan.requests]) == combine(
            plan, [together[request] for request in plan.requests]
        )


def test_a_frame_shift_costs_more_than_a_lost_codon(loop: EngineLoop) -> None:
    """The one thing this model is known to know, on a reading frame made of common codons."""
    codons = random.Random(3).choices(["CTG", "GCG", "GAA", "AAA", "GAT", "ATT", "ACC", "GTG", "AAC", "CAG"], k=160)
    frame = "ATG" + "".join(codons)
    found = {}
    for name, ref in (("shift", frame[239:241]), ("codon", frame[239:243])):
        variant = Variant(len(frame), 240, ref, ref[0])
        plan = plan_variant(PROTOCOL, variant, lambda start, end: frame[start:end], loop.engine.tokenizer)
        results = _scores(loop, list(plan.requests), Priority.STAT)
        found[name] = combine(plan, [results[request] for request in plan.requests]).delta
    assert found["shift"] < found["codon"] - 5.0
