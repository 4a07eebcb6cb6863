"""Region scan: every base in the place of every base of a region, in one pass a strand for each phase of the tokens.

The sites of [nW, (n+1)W) are read in windows that begin at (n-1)W: W is the protocol's window, n any whole number, positions
count from 0 at the contig's first base; on the reverse strand they end at (n+2)W. Where tokens hold k bases there are k passes,
each shifted by a base, so that every site stands at the beginning of a token in one of them: P(base) is then the sum over all
tokens that begin with it. A site at p has a context of W + (p mod W) bases rounded down to whole tokens, between W and 2W,
whatever region it was asked for in. Two tokens are computed for each site, for any k. Where the contig ends the context is
shorter, and the site says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine import alternates
from engine.errors import InvalidRequest
from engine.protocols import (
    AMBIGUOUS,
    BASES,
    CUT_LEFT,
    CUT_RIGHT,
    NO_REFERENCE_BASE,
    ROUNDED,
    UNKNOWN,
    UNSCORED,
    Fetch,
    Pass,
    Protocol,
    RegionPlan,
    SiteScore,
    fitted,
)
from engine.request import REFERENCE, Choice, Score, ScoreResult, Sharing, ids_of
from engine.tokenizers.interface import Tokenizer


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The sites of one cell that are asked for, and the bases that are read for them, in the direction of reading."""

    first: int  # 0-based, of the lowest coordinate
    sites: int
    reverse: bool
    read: str  # ends with the last site

    @property
    def before(self) -> int:
        """Bases read before the first site."""
        return len(self.read) - self.sites

    def site(self, place: int) -> int:
        """The coordinate of a place in `read`, 0-based."""
        return self.first + (len(self.read) - 1 - place if self.reverse else place - self.before)


def plan_region(
    protocol: Protocol,
    contig_length: int,
    start: int,
    end: int,
    fetch: Fetch,
    tokenizer: Tokenizer,
    *,
    sharing: Sharing = REFERENCE,
) -> RegionPlan:
    """The passes over [start, end), 0-based. `fetch(start, end)` gives reference bases within the contig.

    Raises InvalidRequest for a region outside the contig or another protocol, UnsupportedTokenizer for tokens of unequal width.
    """
    if protocol.kind != "region-scan":
        raise InvalidRequest(f"a region is scored with region-scan, not {protocol.kind}")
    if not 0 <= start < end <= contig_length:
        raise InvalidRequest(f"region {start + 1}-{end} is empty or lies outside the contig of {contig_length} bases")
    width, used = alternates.even_width(tokenizer, protocol.kind), fitted(protocol, tokenizer)
    strands = alternates.directions(protocol.strand)
    planned = [
        one
        for reverse in strands
        for cell in _cells(used.window, start, end)
        for one in _passes(_stretch(used.window, contig_length, cell, reverse, fetch), width, tokenizer, sharing)
    ]
    return RegionPlan(
        tuple(request for request, _ in planned),
        tuple(one for _, one in planned),
        start,
        fetch(start, end).upper(),
        used.window,
        width,
        len(strands),
        () if used is protocol else (ROUNDED,),
    )


def _cells(window: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sites of each cell that the region holds."""
    for cell in range(start // window, (end - 1) // window + 1):
        yield max(start, cell * window), min(end, (cell + 1) * window)


def _stretch(window: int, contig_length: int, sites: tuple[int, int], reverse: bool, fetch: Fetch) -> _Stretch:
    """What is read for these sites of one cell: up to the last of them, from where the context of the whole cell begins."""
    cell = sites[0] // window
    if reverse:
        bases = alternates.reverse_complement(fetch(sites[0], min(contig_length, (cell + 2) * window)).upper())
    else:
        bases = fetch(max(0, (cell - 1) * window), sites[1]).upper()
    return _Stretch(sites[0], sites[1] - sites[0], reverse, bases)


def _passes(stretch: _Stretch, width: int, tokenizer: Tokenizer, sharing: Sharing) -> Iterator[tuple[Score, Pass]]:
    """A pass for each phase that has sites; what stands before the first of them is whole tokens."""
    asked = tuple(alternates.beginning_with(base, tokenizer) for base in (BASES[::-1] if stretch.reverse else BASES))
    for shift in range(width):
        first = stretch.before + (shift - stretch.before) % width
        if not tokenizer.before and first < width:
            first += width  # nothing at all stands before that site
        places = range(first, len(stretch.read), width)
        if places:
            read = stretch.read[shift : places[-1]]
            yield _pass(stretch, places, read, asked, tokenizer, sharing)


def _pass(
    stretch: _Stretch, places: range, read: str, asked: tuple[Choice, ...], tokenizer: Tokenizer, sharing: Sharing
) -> tuple[Score, Pass]:
    """Read the bases before the last of some places in `stretch.read`, and weigh what may stand in each of the places."""
    tokens = tokenizer.encode(read)
    context = len(read) - (places[-1] - places[0])
    anything = next(ids_of(asked))  # in the place of the last site: nothing depends on what stands there
    request = Score(
        (*tokenizer.before, *tokens.ids, anything),
        sharing,
        alternatives=asked,
        alternatives_from=len(tokenizer.before) + context // places.step,
    )
    ambiguous = next((place for place, base in enumerate(read) if base not in BASES), None)
    lowest = min(stretch.site(places[0]), stretch.site(places[-1]))
    unknown = tokens.unknown[0] if tokens.unknown else None
    return request, Pass(lowest, len(places), context, stretch.reverse, ambiguous, unknown)


def combine_region(plan: RegionPlan, results: Sequence[ScoreResult]) -> tuple[SiteScore, ...]:
    """Results in the order of `plan.requests` to the sites of the region, ascending."""
    if len(results) != len(plan.requests):
        raise InvalidRequest(f"the plan has {len(plan.requests)} requests and {len(results)} results came")
    strands: list[list[Sequence[float]]] = [[] for _ in plan.reference]  # of each site, log P of the bases on each strand
    contexts: list[list[int]] = [[] for _ in plan.reference]
    flags: list[set[str]] = [set(plan.flags) for _ in plan.reference]
    for one, result in zip(plan.passes, results, strict=True):
        for index in range(one.sites):
            site = one.first - plan.start + plan.width * (one.sites - 1 - index if one.reverse else index)
            context = one.context + plan.width * index
            strands[site].append(result.alternatives[index * len(BASES) : (index + 1) * len(BASES)])
            contexts[site].append(context)
            flags[site] |= _flags(one, context, plan.window)
    return tuple(_site(plan, site, strands[site], contexts[site], flags[site]) for site in range(len(plan.reference)))


def _flags(one: Pass, context: int, window: int) -> set[str]:
    flags = {CUT_RIGHT if one.reverse else CUT_LEFT} if context < window else set()
    flags |= {AMBIGUOUS} if one.ambiguous_from is not None and one.ambiguous_from < context else set()
    return flags | ({UNKNOWN} if one.unknown_from is not None and one.unknown_from < context else set())


def _site(plan: RegionPlan, site: int, strands: Sequence[Sequence[float]], contexts: list[int], flags: set[str]) -> SiteScore:
    base = plan.reference[site]
    found = BASES.find(base)
    flags = flags | ({NO_REFERENCE_BASE} if found < 0 else set())
    if len(strands) < plan.strands:
        return SiteScore(plan.start + site + 1, base, (), (), 0, tuple(sorted(flags | {UNSCORED})))
    columns = list(zip(*strands, strict=True))
    logprobs = tuple(math.fsum(column) / len(strands) for column in columns)
    minus = [-value for value in columns[found]]
    deltas = () if found < 0 else tuple(math.fsum([*column, *minus]) / len(strands) for column in columns)
    return SiteScore(plan.start + site + 1, base, logprobs, deltas, min(contexts), tuple(sorted(flags)))
