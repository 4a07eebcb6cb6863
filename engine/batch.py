"""What a step carries between scheduler and runner: rows out, outputs back. Plain data, no tensors."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import EngineError
from engine.request import Choice, Sampling

Floats = Sequence[float]  # float32 values, held exactly; `array("f")` or a tuple


@dataclass(frozen=True, slots=True)
class Extra:
    """What few rows ask beside the log-probabilities of their own targets. A line is a token of the row, counted from 0."""

    lead: tuple[int, ...] = ()  # log P(token | all before `start`), from the hidden state kept for the block that ends at `start`
    skip: int = 0  # lines without a target, at the beginning: computed again, their scores are known
    forks: tuple[tuple[int, int], ...] = ()  # (line, token): log P(token | everything up to the line)
    ids: tuple[Choice, ...] | None = None  # log P of each choice (empty: of every id of the vocabulary) …
    ids_from: int = 0  # … after every line from this one on
    pooled: array[float] | None = None  # running float64 sums of the hidden states before this row; empty: none yet
    last_only: bool = False  # pool nothing but the last line


@dataclass(slots=True)
class Row:
    """A chunk of one sequence: `tokens` stand at absolute positions `start …` and are computed in this step.

    The scheduler may use the same object again for the next step: whoever keeps rows beyond a step copies them.
    """

    handle: int
    start: int
    tokens: Sequence[int]
    blocks: Sequence[int]  # the sequence's table, from its block number `first` on; append-only, so a reference is enough
    targets: Sequence[int] = ()  # wanted: log P(targets[i] | everything up to line `extra.skip` + i)
    draw: Sampling | None = None  # draw the token at position `commit` from the logits before it
    commit: int = 0  # the sequence counts as computed up to here afterwards; padding commits nothing
    first: int = 0  # blocks before this one have been given back: the sliding window has left them
    extra: Extra | None = None


@dataclass(slots=True)
class Signal:
    """What is said while a pass runs: any thread raises it, and the runner counts layers."""

    raised: bool = False  # somebody wants to be heard: a pass that may be stopped stops after its layer
    steered: bool = False  # what somebody changes about requests on their way: so does any other
    layers: int = 0  # computed so far, of all passes


@dataclass(frozen=True, slots=True)
class Batch:
    """All rows of one step, and what is done before anything is computed, in this order: arena slots that became free may be
    overwritten, blocks leave for the arena, blocks that became free may be overwritten, others are blanked, blocks come back,
    blocks are copied.
    """

    rows: Sequence[Row]
    released: tuple[int, ...] = ()  # blocks that became free since the last step
    copies: tuple[tuple[int, int], ...] = ()  # block to block (from, to)
    dropped: tuple[int, ...] = ()  # arena slots that did
    swap_outs: tuple[tuple[int, int], ...] = ()  # block to arena slot
    swap_ins: tuple[tuple[int, int], ...] = ()  # arena slot to block
    signal: Signal | None = None
    stoppable: bool = False  # may be stopped between two layers when the signal is raised, and not only when it is steered
    beside: bool = False  # a stopped pass is kept meanwhile; any other batch ends it
    resumes: bool = False  # the rows of the stopped pass, which goes on from its layer; `beside`: of the one beside that
    blank: tuple[int, ...] = ()  # blocks to be filled with zeros: rows read them, and want nothing that depends on them

    @property
    def tokens(self) -> int:
        """Tokens computed by the step."""
        return sum(len(row.tokens) for row in self.rows)


@dataclass(frozen=True, slots=True)
class ExtraOutput:
    """Answers to `Extra`, in its order."""

    lead: Floats = ()
    forks: Floats = ()
    ids: Floats = ()  # line by line
    pooled: array[float] | None = None  # sums with this row's lines added in ascending order


@dataclass(slots=True)
class RowOutput:
    """What a row gave: log-probabilities of its targets, or the drawn token and its log-probability, or an error."""

    logprobs: Floats = ()
    token: int | None = None
    error: EngineError | None = None
    extra: ExtraOutput | None = None
    short: bool = False  # memory ran out with this row's company, and it was computed in a smaller one
