"""What is said of a manifest as a whole, and of one cell.

foundation.Refused
└── ManifestRefused     the table or the archive cannot be read; nothing of it is ordered
"""

from typing import NamedTuple

from foundation.errors import Refused
from foundation.reasons import Reason


class ManifestRefused(Refused):
    """The manifest cannot be read as it is."""

    def __init__(self, reason: Reason, **values: object) -> None:
        super().__init__(reason.say(**values), code=str(reason))


class Objection(NamedTuple):
    """What is wrong with a row: in which column, in words, and a stable code."""

    column: str  # empty: the row as a whole
    words: str
    code: str

    def as_json(self) -> dict[str, str]:
        return self._asdict()


def objection(column: str, reason: Reason, **values: object) -> Objection:
    """An objection with the words of its code."""
    return Objection(column, reason.say(**values), str(reason))
