"""What is typed of a site or a provider: one line of printable text that fits its column, or an objection in words."""

from collections import defaultdict

from foundation.printable import is_printable

Objections = defaultdict[str, list[str]]


def line(value: str, name: str, label: str, most: int, fields: Objections, *, required: bool = False) -> str:
    """The text without spaces at its ends; objections go into `fields`."""
    text = value.strip()
    if required and not text:
        fields[name].append(f"{label} is missing.")
    if len(text) > most:
        fields[name].append(f"{label} is longer than {most} characters.")
    if not is_printable(text):
        fields[name].append(f"{label} holds characters that cannot be printed.")
    return text


def lines(value: str, name: str, label: str, most: int, fields: Objections, *, required: bool = False) -> str:
    """The same for a text of several lines, without empty ones."""
    kept = "\n".join(one.strip() for one in value.splitlines() if one.strip())
    line(kept.replace("\n", " "), name, label, most, fields, required=required)
    return kept
