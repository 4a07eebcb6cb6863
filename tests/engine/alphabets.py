"""Tokenizers of each kind that published models have, small enough for one random model of 90 ids."""

from __future__ import annotations

import itertools

from engine.tokenizers.byte_pairs import BytePairTokenizer, Cut
from engine.tokenizers.interface import Tokenizer
from engine.tokenizers.kmers import KmerTokenizer
from engine.tokenizers.vocab_json import from_symbols
from tests.engine.checkpoints import SYMBOLS

SIZE = 90
_NAMES = {"<unk>": 0, "<bos>": 1, "<eos>": 2, "<dna>": 3}
WORDS = {"".join(word): 10 + number for number, word in enumerate(itertools.product("ACGT", repeat=3))}
_MERGES = ["A C", "G T", "AC G", "T T", "C A", "TT A", "G G", "GG GT", "ACG T", "A A", "CA GT"]
_PIECES = {piece: 4 + number for number, piece in enumerate(["A", "C", "G", "T", *(m.replace(" ", "") for m in _MERGES)])}


def byte_pairs(before: tuple[int, ...] = (1,)) -> BytePairTokenizer:
    """Eleven merges; every letter but A, C, G and T is unknown."""
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in _MERGES)]
    symbols = {**_NAMES, **_PIECES}
    return BytePairTokenizer(symbols, merges, Cut("<unk>"), before=before, eos=2, names=frozenset(_NAMES))


def kmers(before: tuple[int, ...] = (1,), padding: str | None = None) -> KmerTokenizer:
    """Words of three bases."""
    return KmerTokenizer(WORDS, before=before, eos=2, unknown=0, padding=padding)


CHARACTER, KMERS, HYBRID, PAIRS = from_symbols(SYMBOLS), kmers(), kmers((3,), "A"), byte_pairs()
KINDS: dict[str, Tokenizer] = {"character": CHARACTER, "k-mer": KMERS, "hybrid": HYBRID, "byte pairs": PAIRS}
BARE: dict[str, Tokenizer] = {"k-mer": kmers(()), "byte pairs": byte_pairs(())}  # nothing stands before a sequence
TAGGED = kmers((1, 3))  # two ids do
