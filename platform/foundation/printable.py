"""What may stand in a line that people read: printable characters, and the joiners that some scripts are spelt with."""

from unicodedata import category

JOINERS = "\u200c\u200d"  # zero-width non-joiner and joiner: Persian, Hindi, Bengali and others tell words apart by them

UNSEEN = "\u115f\u1160\u2800\u3164\uffa0"  # Hangul fillers and the empty Braille cell: letters that are drawn as nothing


def is_printable(text: str) -> bool:
    """Whether all of it can be read: no line ends, no control characters, no marks that turn the direction of what follows.

    A joiner counts where a letter or a vowel sign stands on its left; anywhere else it would only hide.
    """
    return all(_stands(text, place) for place in range(len(text)))


def printable(text: str, instead: str = " ") -> str:
    """The text with `instead` for each character that cannot be read."""
    return "".join(letter if _stands(text, place) else instead for place, letter in enumerate(text))


def _stands(text: str, place: int) -> bool:
    letter = text[place]
    if letter in JOINERS:
        before = text[place - 1 : place] if place else ""
        return bool(before) and ord(before) > 0x2FF and before.isprintable() and not before.isspace() and before not in JOINERS
    return (letter.isprintable() and letter not in UNSEEN) or category(letter) == "Zs"  # no-break spaces come with what is pasted
