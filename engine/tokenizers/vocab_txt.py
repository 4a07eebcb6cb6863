"""`vocab.txt`: a token a line, as GENERator has it, with its id behind it or without.

The names are those of tokenizer_config.json and special_tokens_map.json, else the customary ones. A sequence begins with bos where
there is one, unless `add_bos_token` is false. No eos is put behind it: a score is that of the bases alone.
"""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelRefused
from engine.tokenizers import files, naming
from engine.tokenizers.interface import Tokenizer
from engine.tokenizers.words import of_words

FILE = "vocab.txt"


def from_folder(folder: Path) -> Tokenizer:
    """Read `vocab.txt`: k-mers, or single characters."""
    symbols = naming.with_added(folder, _symbols(files.text(folder, FILE)))
    names = naming.read(folder, symbols, usual=True)
    before = () if names.bos is None or names.adds_bos is False else (names.bos,)
    eos = naming.end(folder, names.eos, (), symbols)
    tokenizer = of_words(symbols, FILE, before=before, eos=eos, unknown=names.unknown)
    said = files.json_object_if_there(folder, "tokenizer_config.json").get("k", tokenizer.width)
    if said != tokenizer.width:
        raise ModelRefused(f"tokenizer_config.json says k = {str(said)[:40]}, and the words of {FILE} have {tokenizer.width} bases")
    return tokenizer


def _symbols(text: str) -> dict[str, int]:
    lines = [line.split() for line in text.removeprefix("\ufeff").rstrip().split("\n")]
    widths = {len(line) for line in lines}
    if widths not in ({1}, {2}):
        raise ModelRefused(f"{FILE} must hold one token a line, or a token and its id on each")
    tokens = [line[0] for line in lines]
    numbers: list[object] = list(range(len(lines)))
    if widths == {2}:
        numbers = [int(line[1]) if line[1].isdecimal() and len(line[1]) < 10 else line[1] for line in lines]
    if twice := files.twice(tokens):
        raise ModelRefused(f"{FILE} holds the token {twice[:40]!r} twice")
    return files.vocabulary(dict(zip(tokens, numbers, strict=True)), FILE)
