"""What to ask of the engine for one alternate, and how its answers become INFO values: in windows, or from a region scan."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from engine.centred import compare_ref
from engine.command_line.info_fields import Verdict
from engine.command_line.reference import Reference
from engine.errors import EngineError, UnsupportedAllele
from engine.protocols import BASES, Protocol, RegionPlan, SiteScore, Variant, VariantPlan, fitted
from engine.request import Request
from engine.scan import combine_region, plan_region
from engine.tokenizers.interface import Tokenizer
from engine.windows import combine, plan_variant

_CELLS = 64  # kept: records that are nearly in order find theirs


@dataclass(frozen=True, slots=True)
class Planned:
    """`verdict` takes the results in the order of `requests`."""

    requests: Sequence[Request]
    verdict: Callable[[Sequence[Any]], Verdict]


Plan = Callable[[str, Variant], Planned]  # of a contig of the reference; raises the RequestRefused that says why not


def by(protocol: Protocol, reference: Reference, tokenizer: Tokenizer) -> Plan:
    """How this protocol plans."""
    if protocol.kind == "region-scan":
        return _Cells(protocol, reference, tokenizer).plan
    return functools.partial(_windows, protocol, reference, tokenizer)


def refused(error: EngineError) -> Verdict:
    """The values of an alternate without a score."""
    return {"CODE": error.code, "REASON": str(error)}


def _windows(protocol: Protocol, reference: Reference, tokenizer: Tokenizer, contig: str, variant: Variant) -> Planned:
    plan = plan_variant(protocol, variant, reference.fetcher(contig), tokenizer)
    return Planned(plan.requests, functools.partial(_of_windows, plan, protocol.window, tokenizer.width))


def _of_windows(plan: VariantPlan, window: int, width: int | None, results: Sequence[Any]) -> Verdict:
    """What says nothing is missing: an equal number of tokens, the window that was asked for, phases of single bases, no loss."""
    score = combine(plan, results)
    return {
        "DELTA": score.delta,
        "DELTA_PER_BASE": score.delta_per_base,
        "LL_REF": score.ll_ref,
        "LL_ALT": score.ll_alt,
        "BASES": score.bases,
        "TOKENS": score.tokens,
        "ALT_TOKENS": score.alt_tokens if score.alt_tokens != score.tokens else None,
        "SCORED_AS": score.scored_as,
        "WINDOW": score.window if score.window != window else None,
        "OFFSET": score.offset,
        "PHASES": score.phases if width != 1 else None,
        "TRIMMED": score.trimmed or None,
        "UNKNOWN": score.unknown or None,
        "FLAGS": score.flags,
    }


class _Cells:
    """Every cell is planned, computed and combined once, whatever number of records lies in it."""

    def __init__(self, protocol: Protocol, reference: Reference, tokenizer: Tokenizer) -> None:
        self._protocol, self._reference, self._tokenizer = protocol, reference, tokenizer
        self._size = fitted(protocol, tokenizer).window
        self._cell = lru_cache(maxsize=_CELLS)(self._planned)

    def plan(self, contig: str, variant: Variant) -> Planned:
        """UnsupportedAllele for all but single bases."""
        ref, alt = variant.ref.upper(), variant.alt.upper()
        if not (len(ref) == len(alt) == 1 and ref in BASES and alt in BASES):
            raise UnsupportedAllele(f"REF {variant.ref} to ALT {variant.alt}: a scan knows single bases; score this one centred")
        compare_ref(variant, ref, self._reference.fetcher(contig))
        cell = self._cell(contig, (variant.position - 1) // self._size)
        return Planned(cell.plan.requests, functools.partial(cell.verdict, variant.position, ref, alt))

    def _planned(self, contig: str, number: int) -> _Cell:
        start, length = number * self._size, self._reference.lengths[contig]
        end = min(start + self._size, length)
        return _Cell(plan_region(self._protocol, length, start, end, self._reference.fetcher(contig), self._tokenizer))


class _Cell:
    """The sites that one pass a strand reads."""

    def __init__(self, plan: RegionPlan) -> None:
        self.plan = plan
        self._sites: tuple[SiteScore, ...] = ()

    def verdict(self, position: int, ref: str, alt: str, results: Sequence[Any]) -> Verdict:
        """The values at one site."""
        self._sites = self._sites or combine_region(self.plan, results)
        site = self._sites[position - 1 - self.plan.start]
        if not site.deltas:
            return refused(UnsupportedAllele(f"there is no probability at this site: {', '.join(site.flags)}"))
        return {
            "DELTA": site.deltas[BASES.index(alt)],
            "LL_REF": site.logprobs[BASES.index(ref)],
            "LL_ALT": site.logprobs[BASES.index(alt)],
            "CONTEXT": site.context,
            "FLAGS": site.flags,
        }
