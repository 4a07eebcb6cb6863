"""Protocols through the real engine: shared trunks and branches give the bits of every window computed alone and whole."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.command_line.running import results, settled
from engine.config import EngineConfig
from engine.engine import Engine
from engine.loading import load
from engine.protocols import Protocol, Variant, VariantPlan
from engine.request import PRIVATE, NextToken, Request, Score
from engine.scan import combine_region, plan_region
from engine.windows import combine, plan_variant

CONTIG = "".join(random.Random(31).choices("ACGT", k=1500))
CONFIG = EngineConfig(blocks=320, block_size=16, slots=16, token_budget=512, chunk=64, self_test=False, poison_free_blocks=True)
PROTOCOLS = [
    Protocol("centred", 96, "average"),
    Protocol("grid-centred", 96, grid=16),
    Protocol("right-end", 96, "average"),
]


@pytest.fixture(scope="module")
def engine(checkpoint: Path) -> Iterator[Engine]:
    return load(checkpoint, config=CONFIG)


def fetch(start: int, end: int) -> str:
    return CONTIG[start:end]


def variants() -> list[Variant]:
    """Neighbours, one site thrice, several bases at once, lengths that differ, events, both ends."""
    places = [(position, 1, alt) for position in (3, 700, 704, 705, 1499) for alt in "CG"] + [(700, 1, "T"), (720, 3, "GTC")]
    found = [Variant(1500, at, CONTIG[at - 1 : at - 1 + length], alt) for at, length, alt in places]
    found = [variant for variant in found if variant.ref != variant.alt]
    found += [Variant(1500, 710, CONTIG[709:714], CONTIG[709]), Variant(1500, 712, CONTIG[711], "ACGTA")]
    return found + [Variant(1500, 650, CONTIG[649], f"<{kind}>", 800) for kind in ("DEL", "DUP", "INV")]


def plans(engine: Engine, protocol: Protocol) -> list[VariantPlan]:
    kept = [v for v in variants() if protocol.kind == "centred" or (v.end is None and len(v.ref) == len(v.alt))]
    return [plan_variant(protocol, variant, fetch, engine.tokenizer) for variant in kept]


def whole(request: Request) -> Request:
    """The same question without a trunk or a cache."""
    if isinstance(request, Score):
        return Score(request.scored, PRIVATE)
    assert isinstance(request, NextToken)
    return NextToken(request.context, request.wanted, PRIVATE)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.kind)
def test_every_variant_has_the_bits_of_its_whole_windows_alone(engine: Engine, protocol: Protocol) -> None:
    order = plans(engine, protocol)
    together = results(engine, [request for plan in order for request in plan.requests])
    shuffled = random.Random(5).sample(order, len(order))
    again = results(engine, [request for plan in shuffled for request in plan.requests])
    for plan in order:
        alone = {request: results(engine, [whole(request)])[whole(request)] for request in plan.requests}
        expected = combine(plan, [alone[request] for request in plan.requests])
        assert combine(plan, [together[request] for request in plan.requests]) == expected
        assert combine(plan, [again[request] for request in plan.requests]) == expected


def test_alternates_reuse_what_their_reference_window_computed(engine: Engine) -> None:
    """Each alternate of a site computes what follows the change and takes the rest from the trunk."""
    found = [
        plan_variant(Protocol(window=96), Variant(1500, 900, CONTIG[899], alt), fetch, engine.tokenizer)
        for alt in "ACGT"
        if alt != CONTIG[899]
    ]
    outcomes = settled(engine, [request for plan in found for request in plan.requests])
    assert len(outcomes) == 4
    assert sum(outcome.reused for request, outcome in outcomes.items() if isinstance(request, Score) and request.branch) >= 3 * 32


def test_a_scanned_site_has_the_probabilities_of_the_next_token_after_its_context(engine: Engine) -> None:
    plan = plan_region(Protocol("region-scan", 48), 1500, 500, 620, fetch, engine.tokenizer)
    found = results(engine, plan.requests)
    sites = combine_region(plan, [found[request] for request in plan.requests])
    for site in sites[::7]:
        at = site.position - 1
        context = (*engine.tokenizer.before, *engine.tokenizer.encode(CONTIG[(at // 48 - 1) * 48 : at]).ids)
        request = NextToken(context, engine.tokenizer.encode("ACGT").ids)
        assert site.logprobs == tuple(results(engine, [request])[request].logprobs)


def test_a_scan_computes_two_tokens_a_site(checkpoint: Path) -> None:
    engine = load(checkpoint, config=CONFIG)
    plan = plan_region(Protocol("region-scan", 48), 1500, 480, 960, fetch, engine.tokenizer)
    results(engine, plan.requests)
    assert 0 < engine.stats()["tokens"] <= 2.05 * 480
