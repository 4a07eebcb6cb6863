"""What is asked after bases goes on from the last of them, in every layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.tokenizers.choosing import from_folder
from engine.tokenizers.prompts import prompt
from tests.engine.tokenizers import layouts


@pytest.mark.parametrize("length", [1, 5, 6, 7, 100])
@pytest.mark.parametrize(
    "layout",
    [layouts.generator, layouts.carbon, layouts.metagene, layouts.marindna],
    ids=["GENERator", "Carbon", "METAGENE-1", "MarinDNA"],
)
def test_the_last_base_is_the_last_of_the_tokens(tmp_path: Path, layout: Callable[[Path], Path], length: int) -> None:
    tokenizer = from_folder(layout(tmp_path))
    bases = layouts.sequence()[:length]
    found = prompt(bases, tokenizer)
    assert found.tokens[:1] == tokenizer.before
    assert tokenizer.decode(found.tokens) == bases[found.trimmed :]
    assert found.trimmed == length % (tokenizer.width or 1)


def test_places_count_the_bases_that_were_given(tmp_path: Path) -> None:
    found = prompt("GGACGTNNACGTAC", from_folder(layouts.carbon(tmp_path)))
    assert (found.trimmed, found.unknown) == (2, (2, 3, 4, 5, 6, 7))
