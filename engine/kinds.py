"""A class for each kind of request: what its rows ask, and what it keeps of their outputs."""

from __future__ import annotations

from array import array
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from typing import Literal, cast

from engine.batch import Extra, Floats, Row, RowOutput
from engine.request import (
    Embed,
    EmbedResult,
    Generate,
    GenerateResult,
    NextToken,
    NextTokenResult,
    Priority,
    Request,
    Sampling,
    Score,
    ScoreResult,
)
from engine.sequence import Entry, Sequence, floats, tokens_of


@dataclass(slots=True, eq=False)
class Scoring(Sequence):
    """`logprobs[i]` belongs to token i + 1, whatever was computed again meanwhile."""

    alternatives: array[float] = field(default_factory=floats)

    def _ask(self, row: Row, end: int) -> None:
        start, known = row.start, len(self.logprobs)
        row.targets = self.tokens[max(start, known) + 1 : end + 1]
        row.extra = None
        if known != start or cast(Score, self.request).alternatives:
            row.extra = self._extra(start, end, known)

    def _extra(self, start: int, end: int, known: int) -> Extra:
        request = cast(Score, self.request)
        lead = (self.tokens[start],) if known == start - 1 else ()
        skip = min(max(0, known - start), end - start)
        ids = request.alternatives or None
        return Extra(lead=lead, skip=skip, ids=ids, ids_from=max(0, request.alternatives_from - 1 - start))

    def _keep(self, output: RowOutput) -> None:
        if output.extra is not None:
            self.logprobs.extend(output.extra.lead)
            self.alternatives.extend(output.extra.ids)
        self.logprobs.extend(output.logprobs)

    def take_up(self, entries: SequenceOf[Entry | None], block_size: int) -> None:
        Sequence.take_up(self, entries, block_size)
        if len(self.logprobs) < self.computed - 1:
            self.logprobs = floats()
            for entry in entries:
                self.logprobs.extend((entry and entry.scores) or ())

    @property
    def resumable(self) -> bool:
        return not cast(Score, self.request).alternatives

    @property
    def wanted_from(self) -> int:
        return len(self.logprobs) if self.resumable else 0

    def restart(self) -> None:
        Sequence.restart(self)
        if self.alternatives:  # they stand in rows of several, which a second pass would write twice
            self.alternatives, self.logprobs = floats(), floats()

    def result(self) -> ScoreResult:
        return ScoreResult(self.logprobs, self.alternatives)


@dataclass(slots=True, eq=False)
class Generating(Sequence):
    """Draws a token whenever all are computed. What is looked at for every token lies here, and not in the request."""

    limit: int = field(init=False)  # tokens that it has when it has drawn all it may
    end: int | None = field(init=False)
    sampling: Sampling = field(init=False)

    def __post_init__(self) -> None:
        Sequence.__post_init__(self)
        request = cast(Generate, self.request)
        self.limit, self.end, self.sampling = self.target + request.limit, request.end, request.sampling

    @property
    def draws(self) -> bool:
        return self._row.draw is not None and not self.slides

    @property
    def wanted_from(self) -> int:
        return self.target - 1

    @property
    def drawn(self) -> int:
        """Tokens that have been drawn."""
        return self.target - len(cast(Generate, self.request).prompt)

    @property
    def done(self) -> bool:
        return self.target == self.limit or (self.drawn > 0 and self.tokens[-1] == self.end)

    def row(self, end: int) -> Row:
        """As any, in one call: thousands of these are made in a step."""
        row, start = self._row, self.computed
        row.start, row.tokens, row.commit = start, self.tokens[start:end], end
        if self.slides:
            row.first = self.first
        row.draw = self.sampling if end == self.target else None
        return row

    def take(self, row: Row, output: RowOutput) -> bool:
        """As any; the row after one of a single token, which computes what it drew, is made ready here."""
        token = output.token
        if token is None:
            self.computed = max(self.computed, row.commit)
            return self.done
        self.tokens.append(token)
        self.logprobs.append(output.logprobs[0])
        computed = self.computed = self.target
        target = self.target = computed + 1
        if len(row.tokens) == 1:
            row.start, row.tokens, row.commit = computed, (token,), target
        return target == self.limit or token == self.end

    def result(self) -> GenerateResult:
        reason: Literal["length", "end"] = "end" if self.tokens[-1] == self.end else "length"
        return GenerateResult(tuple(self.tokens[-self.drawn :]), self.logprobs, reason)


@dataclass(slots=True, eq=False)
class Asking(Sequence):
    """The distribution after the last token."""

    answer: Floats = ()

    @property
    def wanted_from(self) -> int:
        return self.target - 1

    def _ask(self, row: Row, end: int) -> None:
        last = end == self.target
        row.extra = Extra(ids=cast(NextToken, self.request).wanted, ids_from=end - row.start - 1) if last else None

    def _keep(self, output: RowOutput) -> None:
        if output.extra is not None:
            self.answer = output.extra.ids

    def result(self) -> NextTokenResult:
        return NextTokenResult(self.answer)


@dataclass(slots=True, eq=False)
class Embedding(Sequence):
    """Running sums of hidden states, carried from row to row."""

    pooled: array[float] | None = None

    @property
    def resumable(self) -> bool:
        return False

    def _ask(self, row: Row, end: int) -> None:
        last_only = cast(Embed, self.request).pooling == "last"
        row.extra = None
        if not last_only or end == self.target:
            row.extra = Extra(pooled=self.pooled if self.pooled is not None else array("d"), last_only=last_only)

    def _keep(self, output: RowOutput) -> None:
        if output.extra is not None:
            self.pooled = output.extra.pooled

    def restart(self) -> None:
        Sequence.restart(self)
        self.pooled = None

    def result(self) -> EmbedResult:
        positions = 1 if cast(Embed, self.request).pooling == "last" else len(self.tokens)
        return EmbedResult(tuple(value / positions for value in self.pooled or ()), positions)


def sequence_of(handle: int, request: Request, priority: Priority, queued_at: float) -> Sequence:
    """A request as it enters. The last token of a score or a generation is never computed."""
    tokens = list(tokens_of(request))
    length = len(tokens)
    common = (handle, request, Priority(priority), queued_at, tokens)
    if isinstance(request, Score):
        found: Sequence = Scoring(*common, target=length - 1, need=length - 1)
        found.shareable = length - 1 if request.branch is None else request.branch.at
        if request.alternatives:
            found.shareable = min(found.shareable, request.alternatives_from - 1)
    elif isinstance(request, Generate):
        found = Generating(*common, target=length, need=length + request.limit - 1, shareable=length)
    elif isinstance(request, NextToken):
        found = Asking(*common, target=length, need=length, shareable=length)
    else:
        return Embedding(*common, target=length, need=length)
    found.sharing = request.sharing
    return found
