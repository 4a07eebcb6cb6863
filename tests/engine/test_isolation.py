"""Faults that other engines have reported, each kept to the request that brought it.

One bad request that ends everyone's; an error that shows only in company; memory that runs out; log-probabilities of a long prompt
over a large vocabulary; results that depend on the batch; blocks that an abort leaves behind.
"""

from __future__ import annotations

import math
import weakref
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from engine import reading
from engine.batch import Batch, Extra, Row, RowOutput
from engine.config import EngineConfig, Kernels
from engine.errors import EngineFailed, OutOfMemory, RowFailed
from engine.request import PRIVATE, REFERENCE, Branch, Embed, Generate, NextToken, Priority, Request, Sampling, Score
from engine.runner import Runner
from engine.shortage import halves, is_shortage
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import Arrival, drive, echo, scheduler

BAD = 10  # a token that the broken models below cannot bear
WINDOW = tuple(3 + (index * 7) % 4 for index in range(100))
EVERY_KIND: list[Request] = [
    Score((1, 3, 4, 5) * 30),
    Score((1, 3, 5) * 21, alternatives=(3, 4, 5), alternatives_from=20),
    Generate((1, 3, 4) * 9, limit=5, sampling=Sampling(temperature=1.2, seed=4)),
    NextToken((1, 3, 4, 5, 6) * 11),
    Embed((1, 3, 4, 5, 6) * 13),
    Embed((1, 3, 4) * 13, pooling="last"),
    *(Score(WINDOW, REFERENCE, Branch(at, (6, *WINDOW[at + 1 :]))) for at in (17, 50, 64, 90)),
    Score(WINDOW, REFERENCE),
]


class Broken:
    """A runner whose forward can be made to raise, and which counts how often it is asked."""

    def __init__(self, runner: Runner) -> None:
        self.runner, self.forwards = runner, 0
        self.fault: Callable[[Sequence[Row]], Exception | None] = lambda rows: None
        self._forward = runner._forward
        runner._forward = self._counted  # type: ignore[method-assign]

    def _counted(self, rows: Sequence[Row], *rest: object, **how: object) -> list[RowOutput]:
        self.forwards += 1
        error = self.fault(rows)
        if error is not None:
            raise error
        return self._forward(rows, *rest, **how)


@pytest.fixture
def broken(checkpoint: Path, kernels: Kernels) -> Broken:
    return Broken(Runner(model(checkpoint, kernels), CONFIG))


def everything(outcome: object) -> tuple[bytes, ...]:
    """All numbers of a result, exactly."""
    result = outcome.result  # type: ignore[attr-defined]
    assert result is not None, outcome.error  # type: ignore[attr-defined]
    values = [getattr(result, name, ()) for name in ("tokens", "logprobs", "alternatives", "vector")]
    return tuple(array("d", part).tobytes() for part in values)


def all_bits(run: Callable[[Batch], list[RowOutput]], requests: Sequence[Request] = EVERY_KIND) -> list[tuple[bytes, ...]]:
    outcomes = drive(CONFIG, run, [Arrival(place, request) for place, request in enumerate(requests)])
    return [everything(outcomes[place]) for place in range(len(requests))]


def has_bad(rows: Sequence[Row]) -> Exception | None:
    return ValueError("poisoned") if any(BAD in row.tokens for row in rows) else None


def batch(tokens: Sequence[Sequence[int]]) -> Batch:
    """A score's first chunk for each, in blocks of their own."""
    size = CONFIG.block_size
    return Batch([
        Row(handle, 0, row[:-1], [handle * 2, handle * 2 + 1], row[1:], commit=len(row) - 1)
        for handle, row in enumerate(tokens) if len(row) <= 2 * size
    ])  # fmt: skip


@pytest.mark.parametrize("count", [2, 3, 8, 32])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_the_poisoned_row_is_found_with_few_forwards_and_the_others_keep_their_bits(broken: Broken, count: int, place: str) -> None:
    rows = [(1, *(3 + (handle + index) % 4 for index in range(9))) for handle in range(count)]
    clean = broken.runner.run(batch(rows))
    guilty = {"first": 0, "middle": count // 2, "last": count - 1}[place]
    rows[guilty] = (1, BAD, 3)
    broken.fault, broken.forwards = has_bad, 0
    outputs = broken.runner.run(batch(rows))
    assert broken.forwards - 1 <= 2 * math.ceil(math.log2(count))
    assert isinstance(outputs[guilty].error, RowFailed)
    assert "ValueError: poisoned" in str(outputs[guilty].error)
    assert [o.logprobs for i, o in enumerate(outputs) if i != guilty] == [o.logprobs for i, o in enumerate(clean) if i != guilty]


def test_an_error_that_shows_only_in_company_fails_nobody(broken: Broken) -> None:
    alone = all_bits(broken.runner.run)
    broken.fault = lambda rows: IndexError("too many") if len(rows) > 2 else None
    assert all_bits(broken.runner.run) == alone


def test_several_poisoned_rows_fail_each_by_itself(broken: Broken) -> None:
    broken.fault = has_bad
    requests = [Score((1, 3, token, 4) * 5) for token in (3, BAD, 4, BAD, 5)]
    outcomes = drive(CONFIG, broken.runner.run, [Arrival(place, request) for place, request in enumerate(requests)])
    assert [outcomes[place].state for place in range(5)] == ["finished", "failed", "finished", "failed", "finished"]


@pytest.mark.parametrize("together", [True, False])
def test_when_nothing_can_be_computed_nobody_is_told_that_his_request_is_at_fault(broken: Broken, together: bool) -> None:
    """A broken kernel must not turn every order of a night into a permanent failure."""
    broken.fault = lambda rows: OSError("the library is gone")
    rows = batch([(1, 3, 4, 5)] * 6).rows
    steps = [Batch(rows)] if together else [Batch([row]) for row in rows]
    with pytest.raises(EngineFailed, match="library is gone") as failed:
        for step in steps:
            broken.runner.run(step)
    assert not failed.value.permanent


def test_many_poisoned_requests_in_succession_are_still_their_own_fault(broken: Broken) -> None:
    """Alternates of one bad window come together; a known request shows that the engine is sound, and the others keep their
    bits.
    """
    alone = all_bits(broken.runner.run)
    broken.fault = has_bad
    window = (1, 3, 4) * 12
    bad = [Score(window, REFERENCE, Branch(20, (BAD, token, *window[22:]))) for token in range(3, 10)]
    outcomes = drive(CONFIG, broken.runner.run, [Arrival(100 + n, request, Priority.STAT) for n, request in enumerate(bad)])
    assert {outcome.state for outcome in outcomes.values()} == {"failed"}
    broken.fault = lambda rows: None
    assert all_bits(broken.runner.run) == alone


def test_results_do_not_depend_on_company_that_fails(broken: Broken) -> None:
    alone = [all_bits(broken.runner.run, [request])[0] for request in EVERY_KIND]
    broken.fault = lambda rows: KeyError("poisoned") if any(row.handle >= 100 for row in rows) else None
    arrivals = [Arrival(100 + n, Score((1, 3, 4) * (n + 1)), Priority.STAT, step=n) for n in range(3)]
    arrivals += [Arrival(place, request, step=place % 3) for place, request in enumerate(EVERY_KIND)]
    outcomes = drive(CONFIG, broken.runner.run, arrivals)
    assert [everything(outcomes[place]) for place in range(len(EVERY_KIND))] == alone
    assert {outcomes[100 + n].state for n in range(3)} == {"failed"}


def test_an_alternate_that_fails_leaves_its_trunk_to_the_others(broken: Broken) -> None:
    branches = [Score(WINDOW, REFERENCE, Branch(at, (token, *WINDOW[at + 1 :]))) for at, token in ((40, 6), (40, BAD), (80, 6))]
    whole = all_bits(broken.runner.run, [branches[0], branches[2]])
    broken.fault = has_bad
    outcomes = drive(CONFIG, broken.runner.run, [Arrival(place, request) for place, request in enumerate(branches)])
    assert [outcomes[place].state for place in range(3)] == ["finished", "failed", "finished"]
    assert [everything(outcomes[0]), everything(outcomes[2])] == whole


# Memory runs out.


def scarce(most: int) -> Callable[[Sequence[Row]], Exception | None]:
    """A machine on which a forward of more than `most` tokens finds no memory."""
    return lambda rows: MemoryError() if sum(len(row.tokens) for row in rows) > most else None


@pytest.mark.parametrize("most", [3, 40])
def test_where_memory_is_short_every_kind_of_request_keeps_its_bits(broken: Broken, most: int) -> None:
    plenty = all_bits(broken.runner.run)
    broken.fault = scarce(most)
    assert all_bits(broken.runner.run) == plenty


def test_what_was_computed_in_smaller_parts_says_so_and_halves_the_budget(broken: Broken) -> None:
    broken.fault = scarce(40)
    planned = scheduler(CONFIG)
    for place in range(8):
        planned.add(place, Score((1, 3, 4, 5) * 100), Priority.ROUTINE, 0.0)
    seen = []
    while planned.has_work and planned.steps < 5:
        now = planned.schedule(0.0)
        budget, outputs = planned.budget.now, broken.runner.run(now)
        seen.append((budget, any(output.short for output in outputs)))
        planned.postprocess(now, outputs)
    assert seen[:4] == [(256, True), (128, True), (64, True), (32, False)]
    assert planned.budget.shortages == 3


def test_a_row_that_finds_no_memory_for_a_single_token_fails_alone_and_may_be_tried_again(broken: Broken) -> None:
    broken.fault = lambda rows: MemoryError() if any(row.handle == 1 for row in rows) else None
    outcomes = drive(CONFIG, broken.runner.run, [Arrival(place, Score((1, 3, 4) * 9)) for place in range(3)])
    assert [outcomes[place].state for place in range(3)] == ["finished", "failed", "finished"]
    error = outcomes[1].error
    assert (type(error), error.code, error.permanent) == (OutOfMemory, "out_of_memory", False)
    assert str(error) == "there was no memory for even one token of the request: MemoryError"


def test_an_engine_without_memory_for_a_known_token_blames_itself(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(blocks: int) -> object:
        raise MemoryError

    broken.fault = lambda rows: MemoryError()
    monkeypatch.setattr(broken.runner.model.kernels, "pools", exhausted)
    with pytest.raises(EngineFailed, match="no memory for even one token"):
        broken.runner.run(batch([(1, 3, 4)] * 4))
    broken.fault = lambda rows: None
    assert all(output.error is None for output in broken.runner.run(batch([(1, 3, 4)] * 4)))


def test_another_error_is_not_taken_for_a_shortage(broken: Broken) -> None:
    broken.fault = has_bad
    broken.runner.run(batch([(1, BAD, 3, 4, 5)]))
    assert broken.forwards == 1  # its tokens are not tried apart


def test_what_a_failed_attempt_held_is_free_before_the_replay(broken: Broken) -> None:
    held: list[weakref.ref[Tensor]] = []

    def allocate(rows: Sequence[Row]) -> Exception | None:
        assert all(reference() is None for reference in held)
        mine = torch.zeros(1000)
        held.append(weakref.ref(mine))
        if len(rows) > 1:
            raise MemoryError
        return None

    broken.fault = allocate
    outputs = broken.runner.run(batch([(1, 3, 4)] * 4))
    assert len(held) == 7
    assert all(output.error is None and output.short for output in outputs)


def test_the_allocators_own_words_are_known() -> None:
    with pytest.raises(RuntimeError) as torchs:
        torch.empty(1 << 60)
    assert is_shortage(torchs.value)
    assert is_shortage(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"))
    assert is_shortage(MemoryError())
    assert not is_shortage(RuntimeError("shape '[3]' is invalid for input of size 4"))


@pytest.mark.parametrize(("start", "length"), [(0, 2), (5, 3), (16, 16), (30, 70), (7, 512)])
def test_parts_of_a_row_meet_on_the_grid_where_they_can(start: int, length: int) -> None:
    parts = halves(Row(1, start, list(range(length)), [], list(range(1, length + 1)), commit=start + length))
    assert parts is not None
    first, second = parts
    assert [*first.tokens, *second.tokens] == list(range(length))
    assert [*first.targets, *second.targets] == list(range(1, length + 1))
    assert first.start + len(first.tokens) == first.commit == second.start
    assert second.commit == start + length
    assert second.start % 16 == 0 or length < 32


def test_what_is_asked_of_a_line_is_asked_in_the_part_that_has_it() -> None:
    extra = Extra(lead=(9,), skip=20, forks=((3, 5), (16, 6), (30, 7)), ids=(3,), ids_from=18)
    parts = halves(Row(1, 0, list(range(32)), [], list(range(21, 33)), commit=32, extra=extra))
    assert parts is not None
    first, second = (part.extra for part in parts)
    assert (parts[0].targets, parts[1].targets) == ([], list(range(21, 33)))
    assert first == Extra(lead=(9,), skip=16, forks=((3, 5),), ids=(3,), ids_from=18)
    assert second == Extra(skip=4, forks=((0, 6), (14, 7)), ids=(3,), ids_from=2)


def test_a_single_token_has_no_halves() -> None:
    assert halves(Row(1, 5, [3], [0])) is None


# Log-probabilities of a long prompt over a large vocabulary.


class CountingHead:
    """A model that is all head, and knows how many logits are alive."""

    def __init__(self, vocabulary: int) -> None:
        self.config = SimpleNamespace(vocabulary=vocabulary, hidden=4)
        self.kernels = SimpleNamespace(normalisers=lambda logits: (torch.zeros(len(logits)), torch.zeros(len(logits))))
        self.alive = self.peak = self.total = 0

    def norm(self, hidden: Tensor) -> Tensor:
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        made = torch.zeros(1).expand(len(hidden), self.config.vocabulary)
        self.alive += made.numel()
        self.total += made.numel()
        self.peak = max(self.peak, self.alive)
        weakref.finalize(made, self._gone, made.numel())
        return made

    def _gone(self, count: int) -> None:
        self.alive -= count


def test_logits_of_a_long_prompt_are_never_held_at_once() -> None:
    """8,192 tokens over 150,000 ids would be 5 GB; at most two pieces are alive, the one before and the one being made."""
    head, lines = CountingHead(150_000), 512
    reader = reading.Reader(head, blocks=64, block_size=16)  # type: ignore[arg-type]
    rows = [Row(n, 0, [1] * 128, list(range(n * 8, n * 8 + 8)), [2] * 128, commit=128) for n in range(lines // 128)]
    outputs = reader.read(rows, torch.zeros(lines, 4))
    assert [len(output.logprobs) for output in outputs] == [128] * 4
    assert head.total == lines * 150_000
    assert head.peak <= 2 * reading.HEAD_ELEMENTS < head.total / 8


# Blocks that an abort leaves behind.

SMALL = EngineConfig(slots=2, token_budget=32, chunk=16, blocks=24, block_size=16)


@pytest.mark.parametrize("sharing", [PRIVATE, REFERENCE])
@pytest.mark.parametrize("in_flight", [False, True])
@pytest.mark.parametrize("after", range(0, 9, 2))
def test_whoever_is_cancelled_whenever_leaves_no_block_behind(after: int, in_flight: bool, sharing: object) -> None:
    for victim in range(7):
        planned = scheduler(SMALL)
        requests = [replace(request, sharing=sharing) for request in EVERY_KIND[-5:]] + [EVERY_KIND[0], Generate((1, 3), limit=30)]
        for handle, request in enumerate(requests):
            planned.add(handle, request, Priority.ROUTINE, 0.0)
        ended = []
        for step in range(400):
            now = planned.schedule(0.0)
            if step == after and in_flight:
                planned.cancel(victim)
            ended += planned.postprocess(now, echo(now))
            if step == after and not in_flight:
                planned.cancel(victim)
            planned.pool.check(planned.tables())
            if not planned.has_work:
                break
        assert sorted(outcome.handle for outcome in ended) == list(range(7))
        assert (planned.pool.used, planned.ledger.promised) == (0, 0)
