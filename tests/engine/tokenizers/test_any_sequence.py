"""What holds of any tokenizer and any sequence: nothing comes twice, nothing is lost unless it is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Package
from transformers import PreTrainedTokenizerFast

from engine.tokenizers import letters
from engine.tokenizers.choosing import from_folder
from engine.tokenizers.interface import Tokenizer
from tests.engine.checkpoints import SYMBOLS
from tests.engine.tokenizers import layouts


def _ours(folder: Path) -> Path:
    return layouts.write(folder, vocab=SYMBOLS)


LAYOUTS = {
    "GENERator": layouts.generator,
    "3-mers": lambda folder: layouts.generator(folder, 3),
    "Carbon": lambda folder: layouts.carbon(folder, first=700),
    "METAGENE-1": layouts.metagene,
    "GenomeOcean": layouts.genomeocean,
    "MarinDNA": layouts.marindna,
    "ours": _ours,
}
ANY_TIME = settings(deadline=None)  # other processes share the machine
CLEAN = st.text("ACGT", max_size=90)
ANY = st.text("ACGTACGTACGTacgtNnRY-*ß", max_size=90)


@pytest.fixture(scope="module", params=LAYOUTS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    layout: Callable[[Path], Path] = LAYOUTS[request.param]
    return layout(tmp_path_factory.mktemp("layout"))


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return from_folder(folder)


@pytest.fixture(scope="module")
def vocabulary(tokenizer: Tokenizer) -> dict[int, str]:
    """What every id of a tokenizer stands for."""
    return {number: tokenizer.decode((number,)) for number in range(tokenizer.size)}


@pytest.fixture(scope="module")
def published(folder: Path) -> PreTrainedTokenizerFast:
    """The published class, with truncation and padding off."""
    raw = json.loads((folder / "tokenizer.json").read_text()) | {"truncation": None, "padding": None}
    return PreTrainedTokenizerFast(tokenizer_object=Package.from_str(json.dumps(raw)))


@ANY_TIME
@given(bases=CLEAN)
def test_clean_bases_come_back_but_for_what_is_said(tokenizer: Tokenizer, bases: str) -> None:
    found = tokenizer.encode(bases)
    assert found.unknown == ()
    assert tokenizer.decode(found.ids) == bases[found.trimmed :] + "A" * found.padded


@ANY_TIME
@given(bases=ANY)
def test_tokens_partition_the_bases(tokenizer: Tokenizer, bases: str) -> None:
    found = tokenizer.encode(bases)
    assert len(found.starts) == len(found.ids) + 1
    assert (found.starts[0], found.starts[-1]) == (found.trimmed, len(bases))
    assert all(start <= end for start, end in pairwise(found.starts))
    widths = {end - start for start, end in pairwise(found.starts)}
    assert tokenizer.width is None or widths <= {tokenizer.width, tokenizer.width - found.padded}
    assert max(found.ids, default=0) < tokenizer.size


@ANY_TIME
@given(bases=ANY)
def test_unknown_are_exactly_the_bases_that_do_not_come_back(tokenizer: Tokenizer, bases: str) -> None:
    found = tokenizer.encode(bases)
    lost = [
        place
        for number, (start, end) in zip(found.ids, pairwise(found.starts), strict=True)
        if not tokenizer.decode((number,)).startswith(letters.upper(bases[start:end]))
        for place in range(start, end)
    ]
    assert found.unknown == tuple(lost)


@ANY_TIME
@given(bases=ANY)
def test_case_changes_nothing_and_twice_gives_the_same(tokenizer: Tokenizer, bases: str) -> None:
    assert tokenizer.encode(bases) == tokenizer.encode(letters.upper(bases)) == tokenizer.encode(letters.lower(bases))


@ANY_TIME
@given(bases=st.text("ACGT", min_size=1, max_size=6))
@pytest.mark.parametrize("folder", ["GENERator", "3-mers", "Carbon", "MarinDNA", "ours"], indirect=True)
def test_the_tokens_that_begin_with_bases_are_those_of_the_whole_vocabulary(
    tokenizer: Tokenizer, vocabulary: dict[int, str], bases: str
) -> None:
    wanted = bases[: tokenizer.width]
    every = [number for number, word in vocabulary.items() if word.startswith(wanted)]
    assert tokenizer.beginning_with(wanted) == tuple(every)


@ANY_TIME
@given(bases=ANY)
@pytest.mark.parametrize("folder", ["METAGENE-1", "GenomeOcean", "MarinDNA"], indirect=True)
def test_a_tokenizer_json_gives_the_ids_of_the_published_class(
    tokenizer: Tokenizer, published: PreTrainedTokenizerFast, bases: str
) -> None:
    assert [*tokenizer.before, *tokenizer.encode(bases).ids, tokenizer.eos] == published(letters.upper(bases))["input_ids"]
