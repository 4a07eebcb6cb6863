"""A window is a pure function of its own variant: 500 variants plan to the same requests alone and in any company."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.protocols import Protocol, Variant, VariantPlan
from engine.request import Score
from engine.scan import plan_region
from engine.windows import plan_variant
from tests.engine.test_windows import TOKENIZER, fetch_from

ROOT = Path(__file__).resolve().parents[2]
BRCA1 = ROOT.parent / "shared/data/human/BRCA1.GRCh37.chr17_41176312_41370000.fa.gz"
DEMO = ROOT / "demo/ecoli/ecoli536_lexA.fa"
PROTOCOLS = [
    Protocol("centred", 512, "average"),
    Protocol("grid-centred", 512, grid=64),
    Protocol("right-end", 512),
]


@pytest.fixture(scope="module", params=["BRCA1", "demo"])
def contig(request: pytest.FixtureRequest) -> str:
    """A real sequence: a human gene where it is there, the demonstration's reference always."""
    if request.param == "BRCA1" and not BRCA1.exists():
        pytest.skip("the human sequences are not there")
    text = gzip.decompress(BRCA1.read_bytes()).decode() if request.param == "BRCA1" else DEMO.read_text()
    return "".join(text.splitlines()[1:]).upper()


def variants(contig: str) -> list[Variant]:
    """500, many of them near each other, some at the ends, of every kind."""
    generator = random.Random(11)
    places = [generator.randrange(len(contig) - 30) for _ in range(150)]
    places += [20_000 + generator.randrange(700) for _ in range(330)] + [0, 1, 100, 255, 256] * 2
    places += [len(contig) - length for length in (1, 2, 40, 255, 300)] * 2
    return [_variant(contig, at, generator) for at in places]


def _variant(contig: str, at: int, generator: random.Random) -> Variant:
    length = min(len(contig) - at, generator.choice((1, 1, 1, 1, 2, 3, 8)))
    ref, changed = contig[at : at + length], generator.choice((0, 0, 0, 0, 1, 5))
    if changed == 0 or at + 700 > len(contig):
        return Variant(len(contig), at + 1, ref, ref.translate(str.maketrans("ACGT", "CGTA")))
    if changed == 1:
        return Variant(len(contig), at + 1, contig[at], f"<{generator.choice(('DEL', 'DUP', 'INV'))}>", at + 600)
    return Variant(len(contig), at + 1, ref, ref[0] + "".join(generator.choices("ACGT", k=changed)))


def planned(protocol: Protocol, variant: Variant, fetch: Callable[[int, int], str]) -> VariantPlan | str:
    """The plan, or how it was refused."""
    try:
        return plan_variant(protocol, variant, fetch, TOKENIZER)
    except EngineError as error:
        return repr(error)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.kind)
def test_each_variant_plans_to_the_same_requests_alone_and_in_any_company(contig: str, protocol: Protocol) -> None:
    order, fetch = variants(contig), fetch_from(contig)
    assert len(order) == 500
    together = {place: planned(protocol, variant, fetch) for place, variant in enumerate(order)}
    shuffled = random.Random(12).sample(range(500), 500)
    assert {place: planned(protocol, order[place], fetch) for place in shuffled} == together
    fresh = 17  # alone: another tokenizer, another fetch, another equal variant
    for place in range(0, 500, fresh):
        one = order[place]
        alone = Variant(one.contig_length, one.position, one.ref, one.alt, one.end)
        assert planned(protocol, alone, fetch_from("".join(contig))) == together[place]
    refused = [plan for plan in together.values() if isinstance(plan, str)]
    assert len(refused) < (250 if protocol.kind != "centred" else 1)


def test_neighbours_share_more_on_a_grid_and_nothing_is_planned_twice(contig: str) -> None:
    """The sites are 330 draws of 700 bases: what a scheduler has to compute for them, in distinct reference windows."""
    trunks = {}
    for protocol in PROTOCOLS[:2]:
        plans = [planned(protocol, variant, fetch_from(contig)) for variant in variants(contig)[150:480]]
        windows = [
            plan.requests[0].tokens for plan in plans if isinstance(plan, VariantPlan) and isinstance(plan.requests[0], Score)
        ]
        trunks[protocol.kind] = len(set(windows))
    assert trunks["grid-centred"] < 20 < 150 < trunks["centred"]


def test_a_site_is_read_in_the_same_context_whatever_region_was_asked_for(contig: str) -> None:
    fetch, protocol = fetch_from(contig), Protocol("region-scan", 512)

    def read(start: int, end: int, site: int) -> tuple[int, ...]:
        found = plan_region(protocol, len(contig), start, end, fetch, TOKENIZER)
        ((one, request),) = [
            pair for pair in zip(found.passes, found.requests, strict=True) if 0 <= site - pair[0].first < pair[0].sites
        ]
        return request.tokens[: 1 + one.context + site - one.first]

    for site in (20_000, 20_479, 20_480, 20_999):
        alone = read(site, site + 1, site)
        assert 512 <= len(alone) - 1 == 512 + site % 512
        assert read(19_800, 21_000, site) == read(site - 1, site + 300, site) == alone
