"""Text that the PDF's fonts can show. Anything else is printed as its code point, so that nothing is dropped or guessed."""

import unicodedata

# What the embedded fonts cover, written left to right; checked by a test that sets every one of these characters.
RANGES = (
    (0x20, 0x7E),
    (0xA0, 0x36F),
    (0x370, 0x4FF),
    (0x1E00, 0x1FFF),
    (0x2010, 0x2027),
    (0x2030, 0x2040),
    (0x2070, 0x209C),
    (0x20A0, 0x20BF),
    (0x2190, 0x22FF),
)
_SILENT = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})  # controls, direction overrides, characters that do not exist


def printable(text: str) -> str:
    """`text` with every character that cannot be shown replaced by its code point, as in [U+4E2D]."""
    return "".join(c if _shown(c) else " " if c in "\t\n\r" else f"[U+{ord(c):04X}]" for c in text)


def _shown(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in RANGES) and unicodedata.category(character) not in _SILENT
