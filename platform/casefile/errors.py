"""Errors of the case file.

foundation.Refused
├── BadText          a comment or a reason that cannot be kept as it is
├── BadFile          a file that may not be attached
├── AlreadyDone      somebody has corrected this comment, or withdrawn this file, before
└── Ended            this draft is placed, discarded or past its time
foundation.Stale
└── SavedElsewhere   another window has saved a newer version of this draft
"""

from datetime import datetime

from foundation.errors import Refused, Stale


class BadText(Refused):
    """Write what you want to say."""


class BadFile(Refused):
    """Choose a file."""


class AlreadyDone(Refused):
    """Somebody has done this before. The page shows how it stands now."""


class Ended(Refused):
    """This draft has ended."""


class SavedElsewhere(Stale):
    """Another window has saved a newer version of this draft."""

    def __init__(self, version: int, at: datetime) -> None:
        super().__init__(code="draft.saved-elsewhere")
        self.version, self.at = version, at
