"""Region scan: every base in the place of every base of a region, in one pass a strand.

The sites of [kW, (k+1)W) are read in one window that begins at (k-1)W: W is the protocol's window, k any whole number, positions
count from 0 at the contig's first base. A site at p so has a context of W + (p mod W) bases, between W and 2W, whatever region it
was asked for in; on the reverse strand the window of the cell ends at (k+2)W. Two tokens are computed for each site. Where the
contig ends the context is shorter, and the site says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from engine import alternates
from engine.errors import InvalidRequest
from engine.protocols import (
    AMBIGUOUS,
    BASES,
    CUT_LEFT,
    CUT_RIGHT,
    NO_REFERENCE_BASE,
    UNKNOWN,
    Fetch,
    Pass,
    Protocol,
    RegionPlan,
    SiteScore,
    Tokenizes,
)
from engine.request import REFERENCE, Score, ScoreResult, Sharing


def plan_region(
    protocol: Protocol,
    contig_length: int,
    start: int,
    end: int,
    fetch: Fetch,
    tokenizer: Tokenizes,
    *,
    sharing: Sharing = REFERENCE,
) -> RegionPlan:
    """The passes over [start, end), 0-based. `fetch(start, end)` gives reference bases within the contig.

    Raises InvalidRequest for a region outside the contig or another protocol, UnsupportedTokenizer for tokens of several bases.
    """
    if protocol.kind != "region-scan":
        raise InvalidRequest(f"a region is scored with region-scan, not {protocol.kind}")
    if not 0 <= start < end <= contig_length:
        raise InvalidRequest(f"region {start + 1}-{end} is empty or lies outside the contig of {contig_length} bases")
    planned = [
        _pass(cell, reverse, _bounds(protocol.window, contig_length, cell, reverse), fetch, tokenizer, sharing)
        for reverse in alternates.directions(protocol.strand)
        for cell in _cells(protocol.window, start, end)
    ]
    requests, passes = zip(*planned, strict=True)
    return RegionPlan(requests, passes, start, fetch(start, end).upper(), protocol.window)


def _cells(window: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sites of each cell that the region holds."""
    for cell in range(start // window, (end - 1) // window + 1):
        yield max(start, cell * window), min(end, (cell + 1) * window)


def _bounds(window: int, contig_length: int, sites: tuple[int, int], reverse: bool) -> tuple[int, int]:
    """What is read for these sites of one cell: up to the last of them, from where the context of the whole cell begins."""
    cell = sites[0] // window
    return (sites[0], min(contig_length, (cell + 2) * window)) if reverse else (max(0, (cell - 1) * window), sites[1])


def _pass(
    sites: tuple[int, int], reverse: bool, bounds: tuple[int, int], fetch: Fetch, tokenizer: Tokenizes, sharing: Sharing
) -> tuple[Score, Pass]:
    first, count = sites[0], sites[1] - sites[0]
    bases = fetch(*bounds).upper()
    read = alternates.reverse_complement(bases) if reverse else bases
    tokens, context = alternates.encoded(read, tokenizer), len(read) - count
    ids = alternates.encoded(BASES[::-1] if reverse else BASES, tokenizer)  # TGCA complements ACGT, base by base
    if ids.unknown:
        raise InvalidRequest("the tokenizer has no ids of their own for A, C, G and T")
    request = Score(
        (*tokenizer.before, *tokens.ids), sharing, alternatives=ids.ids, alternatives_from=len(tokenizer.before) + context
    )
    ambiguous = next((place for place, base in enumerate(read) if base not in BASES), None)
    return request, Pass(first, count, context, reverse, ambiguous, tokens.unknown[0] if tokens.unknown else None)


def combine_region(plan: RegionPlan, results: Sequence[ScoreResult]) -> tuple[SiteScore, ...]:
    """Results in the order of `plan.requests` to the sites of the region, ascending."""
    if len(results) != len(plan.requests):
        raise InvalidRequest(f"the plan has {len(plan.requests)} requests and {len(results)} results came")
    strands: list[list[Sequence[float]]] = [[] for _ in plan.reference]  # of each site, log P of the bases on each strand
    contexts: list[list[int]] = [[] for _ in plan.reference]
    flags: list[set[str]] = [set() for _ in plan.reference]
    for one, result in zip(plan.passes, results, strict=True):
        for index in range(one.sites):
            site = one.first - plan.start + (one.sites - 1 - index if one.reverse else index)
            strands[site].append(result.alternatives[index * len(BASES) : (index + 1) * len(BASES)])
            contexts[site].append(one.context + index)
            flags[site] |= _flags(one, one.context + index, plan.window)
    return tuple(_site(plan, site, strands[site], min(contexts[site]), flags[site]) for site in range(len(plan.reference)))


def _flags(one: Pass, context: int, window: int) -> set[str]:
    flags = {CUT_RIGHT if one.reverse else CUT_LEFT} if context < window else set()
    flags |= {AMBIGUOUS} if one.ambiguous_from is not None and one.ambiguous_from < context else set()
    return flags | ({UNKNOWN} if one.unknown_from is not None and one.unknown_from < context else set())


def _site(plan: RegionPlan, site: int, strands: Sequence[Sequence[float]], context: int, flags: set[str]) -> SiteScore:
    base = plan.reference[site]
    found = BASES.find(base)
    columns = list(zip(*strands, strict=True))
    logprobs = tuple(math.fsum(column) / len(strands) for column in columns)
    if found < 0:
        return SiteScore(plan.start + site + 1, base, logprobs, (), context, tuple(sorted(flags | {NO_REFERENCE_BASE})))
    minus = [-value for value in columns[found]]
    deltas = tuple(math.fsum([*column, *minus]) / len(strands) for column in columns)
    return SiteScore(plan.start + site + 1, base, logprobs, deltas, context, tuple(sorted(flags)))
