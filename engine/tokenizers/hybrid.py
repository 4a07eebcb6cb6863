"""k-mers between the tags `<dna>` and `</dna>` of a language vocabulary (Carbon).

`dna_config.json` says where they begin: `<dna>`, `</dna>` and `<oov>`, then all words of k letters in the order A, T, C, G,
the last letter fastest. What lies below are tokens of English. Without the tag the model reads a sequence as English, so the tag
stands before every sequence. The closing tag never stands behind one: a score is that of the bases alone, and a continuation
must not begin outside; a model that draws it has ended its sequence.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import ModelRefused
from engine.tokenizers import files
from engine.tokenizers.kmers import KmerTokenizer, complete_words

FILE = "dna_config.json"
OPEN, CLOSE, _UNKNOWN = "<dna>", "</dna>", "<oov>"
_CLASS = "HybridDNATokenizer"
_ORDER = "ATCG"
_WIDEST = 8  # bases; Carbon has 6


def from_folder(folder: Path) -> KmerTokenizer:
    """Read `dna_config.json`; where it lists its tokens, the list counts."""
    raw = files.json_object(folder, FILE)
    first = raw.get("dna_start_id")
    listed = raw.get("dna_token_to_id")
    symbols = files.vocabulary(_numbered(raw, first) if listed is None else listed, FILE)
    lowest = min(symbols.values())
    if first is not None and first != lowest:
        raise ModelRefused(f"{FILE} says that its tokens begin at {str(first)[:40]}, and its list begins at {lowest}")
    tokenizer = from_symbols(symbols, FILE)
    if raw.get("k", tokenizer.width) != tokenizer.width:
        raise ModelRefused(f"{FILE} says k = {str(raw['k'])[:40]}, and its words have {tokenizer.width} bases")
    return tokenizer


def from_symbols(symbols: Mapping[str, int], name: str) -> KmerTokenizer:
    """The tokenizer of a vocabulary that has the tags; `name` is the file it came from."""
    missing = [tag for tag in (OPEN, CLOSE) if tag not in symbols]
    words = complete_words(symbols)
    if missing or not words:
        raise ModelRefused(
            f"{name} lacks {missing[0] if missing else 'the words of k bases'}, and a sequence is {OPEN} words {CLOSE}"
        )
    return KmerTokenizer(words, before=(symbols[OPEN],), eos=symbols[CLOSE], unknown=symbols.get(_UNKNOWN), padding="A")


def _numbered(raw: Mapping[str, Any], first: object) -> dict[str, int]:
    k, tags = raw.get("k"), raw.get("dna_special_tokens", [OPEN, CLOSE, _UNKNOWN])
    if type(first) is not int or type(k) is not int or not 1 <= k <= _WIDEST:
        raise ModelRefused(f"{FILE} needs dna_start_id, and k between 1 and {_WIDEST}")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags) or len(set(tags)) < len(tags):
        raise ModelRefused(f"dna_special_tokens of {FILE} must be different names")
    words = map("".join, itertools.product(_ORDER, repeat=k))
    return {token: first + index for index, token in enumerate(itertools.chain(tags, words))}


def refuse_without(folder: Path) -> None:
    """ModelRefused where the tokenizer is said to be of this kind, and nothing in the folder says which ids its words have."""
    if files.json_object_if_there(folder, "tokenizer_config.json").get("tokenizer_class") == _CLASS:
        raise ModelRefused(f"{FILE} is missing, which a {_CLASS} needs: the other files here would read a sequence as English")
