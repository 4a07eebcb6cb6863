"""Sequences as they are typed or pasted: FASTA, or letters alone, of which an empty line begins the next sequence.

Pure: what cannot be read is told with its line, and nothing is changed that is not said in `notes`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from questions import wording

LEAST_BASES = 10
MOST_SEQUENCES = 100
MOST_BASES = 200_000  # of one question
MOST_FAULTS = 20  # told one by one
NAME_LENGTH = 80
_ODD = re.compile(r"[^ACGTUNRYSWKMBDHV]", re.IGNORECASE)
_BLANK = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Asked:
    """One sequence: upper-case letters, U read as T; `line` is where it begins, from 1."""

    name: str
    bases: str
    line: int


@dataclass
class Reading:
    """What a text holds."""

    sequences: list[Asked] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def bases(self) -> int:
        """Of all sequences."""
        return sum(len(one.bases) for one in self.sequences)


@dataclass
class _Piece:
    name: str
    line: int
    lines: list[str] = field(default_factory=list)
    odd: bool = False  # it holds letters that are no bases


def read(text: str) -> Reading:
    """Read a text; its faults are told in the order of its lines."""
    found, faults = Reading(), list[str]()
    lines = re.split(r"\r\n|\r|\n", text)
    for number, piece in enumerate(_pieces(lines, faults), start=1):
        if number > MOST_SEQUENCES:
            faults.append(wording.TOO_MANY.format(line=piece.line, number=number, most=MOST_SEQUENCES))
            break
        asked = Asked(piece.name, "".join(piece.lines).upper().replace("U", "T"), piece.line)
        faults += [] if piece.odd else _short(asked)
        found.sequences.append(asked)
    if not found.sequences:
        faults.append(wording.NOTHING)
    if found.bases > MOST_BASES:
        faults.append(wording.TOO_MUCH.format(bases=found.bases, most=MOST_BASES))
    found.faults, found.notes = shortened(faults), _notes(lines, found)
    return found


def shortened(faults: list[str]) -> list[str]:
    """As many as somebody reads, and how many more there are."""
    over = len(faults) - MOST_FAULTS
    return [*faults[:MOST_FAULTS], wording.MORE.format(count=over)] if over > 0 else faults


def written(sequences: list[tuple[str, str]]) -> str:
    """The text that is read as these names and bases."""
    return "".join(f">{name}\n{bases}\n" for name, bases in sequences)


def _pieces(lines: list[str], faults: list[str]) -> Iterator[_Piece]:
    """Sequences in the order of the text; letters that are no bases become faults, and stay outside."""
    piece: _Piece | None = None
    number, named = 0, any(line.strip() for line in lines) and next(filter(str.strip, lines)).lstrip().startswith(">")
    for line, raw in enumerate(lines, start=1):
        said = raw.strip()
        if piece is not None and (said.startswith(">") or not (said or named)):
            yield piece
            piece = None
        if said.startswith(">"):
            number, named = number + 1, True
            piece = _Piece(_name(said[1:], number), line)
        elif said:
            if piece is None:
                number += 1
                piece = _Piece(f"sequence-{number}", line)
            _add(piece, _BLANK.sub("", said), line, faults)
    if piece is not None:
        yield piece


def _add(piece: _Piece, bases: str, line: int, faults: list[str]) -> None:
    odd = _ODD.search(bases)
    if odd is not None:
        piece.odd = True
        faults.append(wording.LETTER.format(line=line, character=_character(odd[0])))
    piece.lines.append(_ODD.sub("", bases))


def _short(asked: Asked) -> list[str]:
    said = {"line": asked.line, "name": asked.name}
    if not asked.bases:
        return [wording.NO_BASES.format(**said)]
    short = len(asked.bases) < LEAST_BASES
    return [wording.TOO_SHORT.format(**said, length=len(asked.bases), least=LEAST_BASES)] if short else []


def _name(said: str, number: int) -> str:
    """The first word: what else stands on a name line is not kept."""
    word = "".join(letter for letter in (said.split() or [""])[0] if letter.isprintable())
    return word[:NAME_LENGTH] or f"sequence-{number}"


def _character(letter: str) -> str:
    return f"“{letter}”" if letter.isprintable() else f"the character U+{ord(letter):04X}"


def _notes(lines: list[str], found: Reading) -> list[str]:
    bases = "".join(one.bases for one in found.sequences)
    ambiguous = len(bases) - sum(bases.count(base) for base in "ACGT")
    names = [line for line in lines if line.lstrip().startswith(">")]
    rna = sum(line.upper().count("U") for line in lines) - sum(name.upper().count("U") for name in names)
    said = [f"{ambiguous:,} of {len(bases):,} bases are N or ambiguity codes."] if ambiguous else []
    said += [f"{rna:,} U (RNA) are read as T."] if rna else []
    wordy = any(len(name.split()) > 1 for name in names)
    return said + (["Of each name line only the first word is kept."] if wordy else [])
