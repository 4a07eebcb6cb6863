"""Protocols on folders as they are published, tokenizer and weights, against windows written out and read by `transformers`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.command_line.running import results
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import UnsupportedTokenizer
from engine.loading import load
from engine.protocols import Protocol, VariantScore
from engine.scan import combine_region, plan_region
from engine.windows import combine
from tests.engine import published
from tests.engine.tokenizers import layouts
from tests.engine.windows_by_hand import mutated, plan, read

CONFIG = EngineConfig(blocks=160, block_size=16, slots=8, token_budget=256, chunk=64, self_test=False)
FAMILIES: dict[str, tuple[published.Published, Callable[[Path], Path]]] = {
    "GENERator": (published.GENERATOR, layouts.generator),
    "Carbon": (published.CARBON, functools.partial(layouts.carbon, first=40)),
    "METAGENE-1": (published.METAGENE, layouts.metagene),
    "GenomeOcean": (published.GENOME_OCEAN, layouts.genomeocean),
    "MarinDNA": (published.MARIN_DNA, layouts.marindna),
}
CLOSE = 5e-3  # a sum over up to 97 tokens whose logits agree to 1e-4


@dataclass(frozen=True)
class Family:
    """One folder in both libraries."""

    name: str
    engine: Engine
    theirs: Any

    def log_p(self, bases: str) -> Tensor:
        """Log P of every id after each token of what stands before a sequence and of these bases: `[tokens, V]`."""
        tokens = (*self.engine.tokenizer.before, *self.engine.tokenizer.encode(bases).ids)
        with torch.inference_mode():
            return torch.log_softmax(self.theirs(torch.tensor([tokens])).logits[0].double(), -1)

    def total(self, bases: str) -> float:
        """Log P of a window."""
        ids = torch.tensor(self.engine.tokenizer.encode(bases).ids)
        first = len(self.engine.tokenizer.before)
        table = self.log_p(bases)[first - 1 : -1] if first else self.log_p(bases)[:-1]
        return float(table.gather(1, (ids if first else ids[1:])[:, None]).sum())

    def beginning_with(self, allele: str, context: str) -> float:
        """Log of the sum over all ids whose bases begin with the allele."""
        tokenizer = self.engine.tokenizer
        ids = [number for number in range(tokenizer.size) if tokenizer.decode((number,)).startswith(allele)]
        return float(self.log_p(context)[-1, ids].logsumexp(-1))

    def score(self, protocol: Protocol, variant: tuple[int, str, str]) -> VariantScore:
        found = plan(self.engine.tokenizer, protocol, CONTIG, variant)
        answers = results(self.engine, found.requests)
        return combine(found, [answers[request] for request in found.requests])


CONTIG = layouts.sequence()[5000:5400]


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Family:
    transformers = pytest.importorskip("transformers", reason="transformers is a development dependency")
    weights, tokenizer = FAMILIES[request.param]
    folder = weights.write(tokenizer(tmp_path_factory.mktemp("family")))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    return Family(request.param, load(folder, config=CONFIG), theirs)


def other(base: str) -> str:
    return "ACGT"["ACGT".index(base) - 1]


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("kind", ["base", "deletion", "insertion"])
def test_centred_is_the_difference_of_two_windows(family: Family, kind: str, reverse: bool) -> None:
    """Of 96 bases, with the longer allele at the middle."""
    ref = CONTIG[199:203] if kind == "deletion" else CONTIG[199]
    alt = {"base": other(ref[0]), "deletion": ref[0], "insertion": ref[0] + "GATTA"}[kind]
    start = 199 - (96 - max(len(ref), len(alt))) // 2
    both = [contig[start : start + 96] for contig in (CONTIG, mutated(CONTIG, 200, ref, alt))]
    expected = [family.total(read(window, reverse=reverse)) for window in both]
    score = family.score(Protocol("centred", 96, "reverse" if reverse else "forward"), (200, ref, alt))
    assert (score.ll_ref, score.ll_alt) == (pytest.approx(expected[0], abs=CLOSE), pytest.approx(expected[1], abs=CLOSE))
    assert score.delta == pytest.approx(expected[1] - expected[0], abs=CLOSE)


@pytest.mark.parametrize("at", range(199, 205))
def test_right_end_is_the_log_ratio_of_all_tokens_that_begin_with_the_bases(family: Family, at: int) -> None:
    tokenizer, variant = family.engine.tokenizer, (at + 1, CONTIG[at], other(CONTIG[at]))
    if tokenizer.width is None:
        with pytest.raises(UnsupportedTokenizer, match="BPE"):
            plan(tokenizer, Protocol("right-end", 96), CONTIG, variant)
        return
    context = CONTIG[at - (96 - tokenizer.width) : at]
    expected = [family.beginning_with(allele, context) for allele in variant[1:]]
    score = family.score(Protocol("right-end", 96), variant)
    assert [score.ll_ref, score.ll_alt] == pytest.approx(expected, abs=2e-4)


def test_a_scanned_site_is_the_distribution_after_its_context(family: Family) -> None:
    tokenizer = family.engine.tokenizer
    if tokenizer.width is None:
        with pytest.raises(UnsupportedTokenizer, match="BPE"):
            plan_region(Protocol("region-scan", 48), 400, 190, 200, lambda a, b: CONTIG[a:b], tokenizer)
        return
    found = plan_region(Protocol("region-scan", 48), 400, 190, 200, lambda a, b: CONTIG[a:b], tokenizer)
    answers = results(family.engine, found.requests)
    for site in combine_region(found, [answers[request] for request in found.requests]):
        context = CONTIG[site.position - 1 - site.context : site.position - 1]
        assert 48 <= site.context < 96
        assert list(site.logprobs) == pytest.approx([family.beginning_with(base, context) for base in "ACGT"], abs=2e-4)
