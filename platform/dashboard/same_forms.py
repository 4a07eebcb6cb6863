"""The same form once for each row of a page: fields with names of their own, and what was typed in the one that was sent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Form:
    """One of them."""

    one: Any  # the row that it is about
    suffix: str  # of the ids of its fields; the form that was refused has none, so that the list of errors leads there
    values: Mapping[str, str]


def forms(rows: Iterable[Any], *, sent: str, typed: Mapping[str, str], fresh: Mapping[str, str]) -> list[Form]:
    """A form for each row; `sent` is the id of the row whose form was sent, blank where none was."""
    listed = list(rows)
    first = sent or (str(listed[0].pk) if listed else "")
    return [_form(row, first, typed if sent == str(row.pk) else fresh) for row in listed]


def _form(row: Any, first: str, values: Mapping[str, str]) -> Form:
    return Form(row, "" if str(row.pk) == first else f"-{row.pk}", values)
