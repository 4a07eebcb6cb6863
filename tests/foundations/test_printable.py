"""What may stand in a line that people read."""

import pytest

from foundation.printable import is_printable, printable

FARSI, HINDI = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937"


@pytest.mark.parametrize("name", ["O\u2019Neil", "Nguy\u1ec5n Th\u1ecb", "Zo\u00eb\u00a0Muster", FARSI, HINDI])
def test_names_are_kept_as_they_are_spelt(name: str) -> None:
    assert is_printable(name) and printable(name) == name


HIDDEN = [
    "a\x07b",
    "a\nb",
    "a\u202eb",
    "a\u200bb",
    "Mu\u200dster",
    "\u200d",
    FARSI[:2] + "\u200c\u200c",
    "a\ufeffb",
    "\u3164",
    "8\u28008",
]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_only_hides_or_turns_the_direction_does_not_stand(hidden: str) -> None:
    assert not is_printable(hidden) and is_printable(printable(hidden))
