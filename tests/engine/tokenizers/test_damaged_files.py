"""A file of a valid tokenizer, changed anywhere: a tokenizer whose tokens partition the bases, or one sentence."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelRefused, UnknownSymbol
from engine.tokenizers.choosing import from_folder
from tests.engine.tokenizers import layouts

JUNK = [None, True, -1, 0, 2**40, 1.5, "", "A", "\ud800", [], {}, [1], {"type": "Sequence"}, "[UNK]", ["A", "C"], {"id": "A"}]
SEEDS = 150
Place = tuple[str | int, ...]


def places(content: Any, before: Place = ()) -> Iterator[Place]:
    """Where something stands in a JSON document: of long lists and vocabularies the first ten."""
    keys = list(content) if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys[:10]:
        yield (*before, key)
        yield from places(content[key], (*before, key))


def damaged(content: Any, chance: random.Random) -> Any:
    """A copy in which one thing is gone, or something else, or has junk beside it."""
    found = copy.deepcopy(content)
    *way, last = chance.choice(list(places(found)))
    inner = found
    for key in way:
        inner = inner[key]
    match chance.randrange(4):
        case 0:
            del inner[last]
        case 1 if isinstance(inner, dict):
            inner[chance.choice(["", "A", "AC", "NN", "[NEW]"])] = chance.choice(JUNK)
        case _:
            inner[last] = chance.choice(JUNK)
    return found


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        (layouts.metagene, "tokenizer.json"),
        (layouts.metagene, "tokenizer_config.json"),
        (layouts.genomeocean, "tokenizer.json"),
        (layouts.marindna, "tokenizer.json"),
        (layouts.marindna, "special_tokens_map.json"),
        (lambda folder: layouts.generator(folder, 2), "tokenizer_config.json"),
        (lambda folder: layouts.carbon(folder, 2), "dna_config.json"),
        (lambda folder: layouts.carbon(folder, 2, listed=False), "dna_config.json"),
    ],
    ids=["byte pairs", "their names", "more byte pairs", "characters", "more names", "k-mers", "tags", "computed tags"],
)
def test_a_damaged_file_gives_a_tokenizer_or_one_sentence(tmp_path: Path, layout: Callable[[Path], Path], name: str) -> None:
    valid = json.loads((layout(tmp_path) / name).read_text())
    refused = 0
    for seed in range(SEEDS):
        (tmp_path / name).write_text(json.dumps(damaged(valid, random.Random(seed))))
        try:
            found = from_folder(tmp_path).encode("ACGTNRacg<s>")
            assert (found.starts[-1], len(found.starts)) == (12, len(found.ids) + 1)
        except UnknownSymbol:
            continue
        except ModelRefused as error:
            assert len(str(error).splitlines()) == 1
            refused += 1
    assert (refused > 0) == ("model" in valid or "k" in valid)  # names that are none name nothing
    assert refused < SEEDS
