"""Which ids begin a sequence, end it and stand for "unknown": what the files beside a vocabulary say, and who wins.

A tokenizer names tokens, a configuration only numbers them, and such numbers have been wrong (Evo 2). So the end is, in this
order: the `eos_token` of tokenizer_config.json, then special_tokens_map.json; what the tokenizer itself puts behind a sequence;
`eos_token_id` of generation_config.json, then config.json, where that id is a token that stands for no bases. Lengths are not
read here at all: `model_max_length` of a tokenizer is often a leftover (METAGENE-1), and config.json decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import ModelRefused
from engine.tokenizers import files, letters

_CONFIG, _MAP, _ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
_USUAL = {
    "bos_token": ("<s>", "[BOS]", "<bos>"),
    "eos_token": ("</s>", "[EOS]", "<eos>"),
    "unk_token": ("<oov>", "<unk>", "[UNK]"),
}


@dataclass(frozen=True, slots=True)
class Names:
    """Ids of tokens by what they are for; None where the files name none."""

    bos: int | None
    eos: int | None
    unknown: int | None
    adds_bos: bool | None  # what `add_bos_token` says


def with_added(folder: Path, symbols: Mapping[str, int]) -> dict[str, int]:
    """A vocabulary with the tokens that the files beside it add; ModelRefused where they contradict each other."""
    found = dict(symbols)
    decoder = files.json_object_if_there(folder, _CONFIG).get("added_tokens_decoder")
    decoder = {} if decoder is None else decoder
    if not isinstance(decoder, dict) or not all(number.isdecimal() and len(number) < 10 for number in decoder):
        raise ModelRefused(f"added_tokens_decoder of {_CONFIG} does not map ids to tokens")
    added: list[tuple[str | None, Any]] = [(_content(token), int(number)) for number, token in decoder.items()]
    added += files.json_object_if_there(folder, _ADDED).items()
    for symbol, number in added:
        if symbol is not None and found.setdefault(symbol, number) != number:
            one, other = found[symbol], str(number)[:40]
            raise ModelRefused(f"{symbol[:40]!r} has the id {one} in one file of the tokenizer and {other} in another")
    return files.vocabulary(found, "the tokenizer")


def read(folder: Path, symbols: Mapping[str, int], *, usual: bool = False) -> Names:
    """The names of a vocabulary; with `usual`, customary names count where the files say nothing."""
    config, special = (files.json_object_if_there(folder, name) for name in (_CONFIG, _MAP))

    def named(key: str) -> int | None:
        wanted = (_content(config.get(key)), _content(special.get(key)), *(_USUAL[key] if usual else ()))
        return next((symbols[token] for token in wanted if token in symbols), None)

    adds = config.get("add_bos_token")
    return Names(named("bos_token"), named("eos_token"), named("unk_token"), adds if isinstance(adds, bool) else None)


def end(folder: Path, named: int | None, behind: Iterable[int], symbols: Mapping[str, int]) -> int | None:
    """The id that ends a sequence: as named, else the last that is put `behind` one, else what the configurations say."""
    if named is not None:
        return named
    if ends := tuple(behind):
        return ends[-1]
    tokens = {number: symbol for symbol, number in symbols.items()}
    for name in ("generation_config.json", "config.json"):
        said = files.json_object_if_there(folder, name).get("eos_token_id")
        for number in said if isinstance(said, list) else [said]:
            if type(number) is int and number in tokens and not letters.bases_of(tokens[number]):
                return number
    return None


def _content(token: Any) -> str | None:
    """A token as the files write it: its text, or an object with its text."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None
