"""k bases, one token: the sequence is cut into words of k, and what is left over is trimmed on the left or padded on the right.

Without padding (GENERator) the last base must be the last of a k-mer, since generation and the next token go on from there: what
does not fit is trimmed where it is farthest away, on the left. With padding (Carbon) the words are counted from the first base,
and the last one is filled up with letters that are not of the sequence. Either is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from engine.errors import InvalidRequest, ModelRefused, UnknownSymbol
from engine.tokenizers import letters
from engine.tokenizers.interface import Encoded

_WIDEST = 10  # bases; a million tokens


class KmerTokenizer:
    """`words` maps upper-case words of one length to ids, all 4^k of A, C, G and T among them.

    `unknown` stands for words without an id. `padding` is the letter that fills the last word; None: trim on the left. `name` is
    where the words came from, for a refusal.
    """

    def __init__(
        self,
        words: Mapping[str, int],
        *,
        before: tuple[int, ...],
        eos: int | None,
        unknown: int | None,
        padding: str | None = None,
        name: str = "the vocabulary",
    ) -> None:
        self.width = _width(words, name)
        self._ids = dict(words)
        self._words = {number: word for word, number in words.items()}
        self._unknown, self._padding = unknown, padding
        self.before, self.eos = before, eos
        self.size = max(number for number in (*words.values(), *before, eos, unknown) if number is not None) + 1
        self._beginning: dict[str, list[int]] = defaultdict(list)
        for word, number in sorted(words.items(), key=lambda item: item[1]):
            for length in range(1, self.width + 1):
                self._beginning[word[:length]].append(number)

    def encode(self, bases: str) -> Encoded:
        """Ids of words. A word with any letter that is none of A, C, G and T is unknown as a whole, unless it has an id."""
        text, k = letters.upper(bases), self.width
        trimmed = 0 if self._padding else len(text) % k
        padded = -len(text) % k if self._padding else 0
        filled = text + padded * (self._padding or "")
        found = [self._ids.get(filled[start : start + k]) for start in range(trimmed, len(filled), k)]
        starts: Sequence[int] = range(trimmed, len(text) + 1, k)
        if padded:
            starts = (*range(0, len(text), k), len(text))
        strange = [index for index, number in enumerate(found) if number is None]
        unknown = tuple(place for index in strange for place in range(starts[index], starts[index + 1]))
        if unknown and self._unknown is None:
            raise UnknownSymbol(f"{text[unknown[0] :][:k]!r} at position {unknown[0] + 1} is not in the vocabulary")
        ids = tuple((self._unknown or 0) if number is None else number for number in found)
        return Encoded(ids, starts, unknown, trimmed, padded)

    def decode(self, ids: Sequence[int]) -> str:
        """The words of the ids; all other ids give nothing."""
        return "".join(self._words.get(number, "") for number in ids)

    def beginning_with(self, bases: str) -> tuple[int, ...]:
        """All ids whose word begins with `bases`: 4^(k - length) of them."""
        if not 1 <= len(bases) <= self.width:
            raise InvalidRequest(f"a token holds {self.width} bases, and {len(bases)} were asked for")
        return tuple(self._beginning.get(bases, ()))


def _width(words: Mapping[str, int], name: str) -> int:
    """k, where `words` hold every word of k bases and none of another length; ModelRefused otherwise."""
    widths = sorted({len(word) for word in words})
    if len(widths) != 1:
        lengths = " and ".join(map(str, widths)) or "no"
        raise ModelRefused(f"{name} holds words of {lengths} bases; only words of one length are read")
    (width,) = widths
    complete = sum(letters.is_bases(word) for word in words)
    if width > _WIDEST or complete != 4**width:
        raise ModelRefused(f"{name} holds {complete} words of {width} bases, and there are 4^{width}")
    return width


def complete_words(symbols: Mapping[str, int]) -> dict[str, int]:
    """Of a vocabulary that holds other tokens too, the words of the largest k of which it holds all 4^k; none: empty."""
    by_width: dict[int, dict[str, int]] = defaultdict(dict)
    for symbol, number in symbols.items():
        if letters.is_bases(symbol):
            by_width[len(symbol)][symbol] = number
    return next((words for width, words in sorted(by_width.items(), reverse=True) if len(words) == 4**width), {})
