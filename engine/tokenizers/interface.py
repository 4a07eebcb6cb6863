"""What every tokenizer answers: ids, the bases each of them covers, and what was lost.

Bases are upper-cased first, whatever the model. Places count the characters of the text that was given, from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of some bases. Token i covers the bases [starts[i], starts[i + 1]).

    Every base but the first `trimmed` is covered by exactly one token: `starts` never falls, begins at `trimmed` and ends at the
    number of bases. The last token holds `padded` letters more than it covers.
    """

    ids: tuple[int, ...]  # without what stands before a sequence
    starts: Sequence[int]  # len(ids) + 1 places; a range where all tokens are equally wide
    unknown: tuple[int, ...]  # ascending places of bases inside tokens that stand for "unknown": the model does not see them
    trimmed: int = 0  # bases at the left end that no token holds
    padded: int = 0  # letters added behind the last base


class Tokenizer(Protocol):
    """One vocabulary. Frozen once made; any thread may use it."""

    @property
    def before(self) -> tuple[int, ...]:
        """Ids that precede every sequence: (bos,), the tag that says "DNA", or none. None: the first token has no left context."""
        ...

    @property
    def eos(self) -> int | None:
        """The id after which a generated sequence has ended, where the model was trained to end one."""
        ...

    @property
    def size(self) -> int:
        """The largest id that `encode` may give or `decode` may read, plus one."""
        ...

    @property
    def width(self) -> int | None:
        """Bases a token; None where tokens differ in width (BPE)."""
        ...

    def encode(self, bases: str) -> Encoded:
        """Ids of bases. UnknownSymbol for a character without an id where the vocabulary has no way to say "unknown"."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The bases of ids; names such as eos give nothing."""
        ...

    def beginning_with(self, bases: str) -> tuple[int, ...]:
        """All ids whose bases begin with `bases` (1 to `width` of ACGT), ascending. UnsupportedTokenizer where `width` is None."""
        ...
