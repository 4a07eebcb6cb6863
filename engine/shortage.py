"""When memory runs out: how that shows, and how one row is computed in two parts that give what the whole would have given."""

from __future__ import annotations

from array import array
from dataclasses import replace

from engine.batch import Extra, ExtraOutput, Floats, Row, RowOutput

_GRID = 16  # a part ends at an absolute multiple of this where it can, as chunks do
_WORDS = ("allocate memory", "out of memory", "not enough memory")  # of the allocators below torch, which raise a RuntimeError


def is_shortage(error: Exception) -> bool:
    """Whether an exception says that memory ran out."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(word in str(error).lower() for word in _WORDS)
    )


def halves(row: Row) -> tuple[Row, Row] | None:
    """The row's tokens in two rows, to be computed one after the other; None for a single token.

    What belongs to the row as a whole goes to the part with its last committed line. The second part goes on from the running sums
    that the first has come to: `go_on` puts them there.
    """
    count = len(row.tokens)
    if count < 2:
        return None
    middle = (row.start + count // 2) // _GRID * _GRID
    if middle <= row.start:
        middle = row.start + count // 2
    cut = middle - row.start
    extra = row.extra or Extra()
    known = max(0, cut - extra.skip)  # targets of the first part
    last_in_first = row.commit <= middle
    first = replace(
        row,
        tokens=row.tokens[:cut],
        targets=row.targets[:known],
        draw=row.draw if last_in_first else None,
        commit=min(row.commit, middle),
        extra=row.extra and _first(extra, cut, ends=last_in_first),
    )
    second = replace(
        row,
        start=middle,
        tokens=row.tokens[cut:],
        targets=row.targets[known:],
        draw=None if last_in_first else row.draw,
        commit=max(row.commit, middle),
        extra=row.extra and _second(extra, cut, ends=not last_in_first),
    )
    return first, second


def _first(extra: Extra, cut: int, *, ends: bool) -> Extra:
    forks = tuple(fork for fork in extra.forks if fork[0] < cut)
    return replace(extra, skip=min(extra.skip, cut), forks=forks, pooled=extra.pooled if ends or not extra.last_only else None)


def _second(extra: Extra, cut: int, *, ends: bool) -> Extra:
    forks = tuple((line - cut, token) for line, token in extra.forks if line >= cut)
    return replace(
        extra,
        lead=(),
        skip=max(0, extra.skip - cut),
        forks=forks,
        ids_from=max(0, extra.ids_from - cut),
        pooled=extra.pooled if ends or not extra.last_only else None,
    )


def go_on(second: Row, done: RowOutput) -> Row:
    """The second part, with the running sums that the first has come to."""
    if second.extra is None or second.extra.pooled is None or done.extra is None or done.extra.pooled is None:
        return second
    return replace(second, extra=replace(second.extra, pooled=done.extra.pooled))


def joined(first: RowOutput, second: RowOutput) -> RowOutput:
    """What the row gave, from what its parts gave."""
    if first.error is not None or second.error is not None:
        return RowOutput(error=first.error or second.error, short=True)
    extra = None
    if first.extra is not None and second.extra is not None:
        one, two = first.extra, second.extra
        pooled = one.pooled if two.pooled is None else two.pooled
        extra = ExtraOutput(one.lead, _both(one.forks, two.forks), _both(one.ids, two.ids), pooled)
    token = second.token if first.token is None else first.token
    return RowOutput(_both(first.logprobs, second.logprobs), token, extra=extra, short=True)


def _both(first: Floats, second: Floats) -> Floats:
    return array("f", (*first, *second))
