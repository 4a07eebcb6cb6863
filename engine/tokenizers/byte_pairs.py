"""Byte pair encoding, by the `tokenizers` package: tokens of many widths, cut by merges that a corpus taught.

Only vocabulary, merges and the treatment of unknown characters reach the package. What a file may ask for besides is left out:
truncation (a long sequence would lose its end without a word), padding, dropout (training noise), and added tokens, so that no
sequence can spell one. Where a token ends depends on all bases around it; there is no width and no token "beginning with" bases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.errors import UnknownSymbol, UnsupportedTokenizer
from engine.tokenizers import letters
from engine.tokenizers.interface import Encoded

Merges = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Cut:
    """How text is cut, beside vocabulary and merges; names as in tokenizer.json."""

    unk_token: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    lower: bool = False  # the vocabulary is of lower-case letters
    byte_level: bool = False  # symbols stand for bytes
    add_prefix_space: bool = False


class BytePairTokenizer:
    """`names` are symbols of the vocabulary that stand for no bases, whatever their letters."""

    width = None

    def __init__(
        self,
        symbols: Mapping[str, int],
        merges: Merges,
        cut: Cut,
        *,
        before: tuple[int, ...],
        eos: int | None,
        names: frozenset[str],
    ) -> None:
        from tokenizers import Tokenizer, models, pre_tokenizers  # only these models need the package

        self._cut = cut
        self._unknown = symbols.get(cut.unk_token or "")
        self._bases = {number: _bases(symbol) for symbol, number in symbols.items() if symbol not in names}
        self.before, self.eos = before, eos
        self.size = max(number for number in (*symbols.values(), *before, eos) if number is not None) + 1
        self._pairs = Tokenizer(
            models.BPE(
                vocab=dict(symbols),
                merges=list(merges),
                unk_token=cut.unk_token,
                fuse_unk=cut.fuse_unk,
                byte_fallback=cut.byte_fallback,
                ignore_merges=cut.ignore_merges,
            )
        )
        if cut.byte_level:
            # A run of letters is one word to any of the usual patterns, so none is applied.
            self._pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=cut.add_prefix_space, use_regex=False)

    def encode(self, bases: str) -> Encoded:
        """Ids and where each begins. UnknownSymbol for a character without a token where nothing stands for "unknown"."""
        text = letters.upper(bases)
        found = self._pairs.encode(letters.lower(text) if self._cut.lower else text, add_special_tokens=False)
        ids, offsets = tuple(found.ids), found.offsets
        if (offsets[-1][1] if offsets else 0) != len(text):  # the package drops what it does not know
            raise UnknownSymbol(self._dropped(text))
        starts = (*(start for start, _ in offsets), len(text))
        unknown = tuple(
            place
            for number, (start, end) in zip(ids, pairwise(starts), strict=True)
            if number == self._unknown
            for place in range(start, end)
        )
        return Encoded(ids, starts, unknown)

    def decode(self, ids: Sequence[int]) -> str:
        """The letters of the ids, in upper case; names and marks give nothing."""
        return "".join(self._bases.get(number, "") for number in ids)

    def beginning_with(self, bases: str) -> tuple[int, ...]:
        """Always refused."""
        raise UnsupportedTokenizer("byte pair tokens have no fixed width: which one begins with a base depends on what follows")

    def _dropped(self, text: str) -> str:
        cut = letters.lower if self._cut.lower else str
        place = next((place for place, symbol in enumerate(text) if not self._pairs.encode(cut(symbol)).ids), 0)
        return f"{text[place]!r} at position {place + 1} is not in the vocabulary"


def _bases(symbol: str) -> str:
    """The letters of a symbol; `<0x41>` is the byte of A."""
    if symbol.startswith("<0x") and symbol.endswith(">") and len(symbol) == 6:
        try:
            return letters.bases_of(chr(int(symbol[3:5], 16)))
        except ValueError:
            return ""
    return letters.bases_of(symbol)
