"""What a track tells, place by place: the windows of reference and alternate laid beside each other, around the change."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine_queue.models import Item

AROUND = 50  # bases shown on either side of the change
_COMPLEMENT = str.maketrans("ACGT", "TGCA")

Read = tuple[str, float | None]  # a base, and log P of the token that begins at it


@dataclass(frozen=True)
class Base:
    """One place: the base there and log P of its token in nats; None where none begins there, or none counts."""

    ref: str
    ref_value: float | None
    alt: str
    alt_value: float | None
    position: int  # on the contig, of the reference base; 0: the alternate alone has one here
    changed: bool

    @property
    def difference(self) -> float | None:
        """What the alternate has more."""
        return None if self.ref_value is None or self.alt_value is None else self.alt_value - self.ref_value


@dataclass(frozen=True)
class Strand:
    """A window read on one strand, told in the direction of the contig."""

    name: str  # forward | reverse
    bases: tuple[Base, ...]
    window: int  # bases of the whole window
    ref_total: float  # exact sum over the whole window, rounded once
    alt_total: float


def strands(answer: Mapping[str, Any], item: Item, protocol: Mapping[str, Any]) -> Iterator[Strand]:
    """Each strand that was read, of what the engine told of an item (`engine.tracks`)."""
    named = {"average": ("forward", "reverse")}.get(str(protocol.get("strand")), (str(protocol.get("strand")),))
    for name, told in zip(named, answer["strands"], strict=True):
        (ref,), (alt,) = told["ref"], told["alt"]
        window, offset = int(answer["window"]), int(answer["offset"])
        refs, alts = (_by_place(one, window, reverse=name == "reverse") for one in (ref, alt))
        bases = tuple(_base(refs, alts, pair, offset, item) for pair in _pairs(window, offset, item))
        yield Strand(name, bases, window, *(math.fsum(one["log_probabilities"]) for one in (ref, alt)))


def _pairs(window: int, offset: int, item: Item) -> Iterator[tuple[int | None, int | None]]:
    """Places in the reference window and in the alternate one that stand beside each other; behind the change they are shifted."""
    ref, alt = len(item.ref), len(item.alt)
    yield from ((place, place) for place in range(max(0, offset - AROUND), offset))
    for n in range(max(ref, alt)):
        yield offset + n if n < ref else None, offset + n if n < alt else None
    after = offset + ref
    yield from ((place, place + alt - ref) for place in range(after, min(after + AROUND, window)))


def _by_place(told: Mapping[str, Any], window: int, *, reverse: bool) -> dict[int, Read]:
    found: dict[int, Read] = {}
    for start, text, value in zip(told["starts"], told["bases"], told["log_probabilities"], strict=True):
        for n, base in enumerate(text):
            place, letter = (window - 1 - start - n, base.translate(_COMPLEMENT)) if reverse else (start + n, base)
            found[place] = letter, value if n == 0 else None
    return found


def _base(refs: Mapping[int, Read], alts: Mapping[int, Read], pair: tuple[int | None, int | None], offset: int, item: Item) -> Base:
    at, beside = pair
    ref, ref_value = ("", None) if at is None else refs.get(at, ("", None))
    alt, alt_value = ("", None) if beside is None else alts.get(beside, ("", None))
    changed = at is None or beside is None or offset <= at < offset + len(item.ref)
    return Base(ref, ref_value, alt, alt_value, 0 if at is None else item.position - offset + at, changed)
