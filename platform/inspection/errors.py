"""What is refused of audit reports.

foundation.HelicaseError
├── Damaged             its pack is not as it was kept
└── Refused
    └── InvalidAsked    fields that have to be corrected
"""

from collections.abc import Mapping

from foundation.errors import HelicaseError, Refused


class InvalidAsked(Refused):
    """The report cannot be made as it was asked for."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        super().__init__(" ".join(words for said in fields.values() for words in said), code="audit.asked")
        self.fields = fields


class Damaged(HelicaseError):
    """The pack of this report is missing, or is not as it was kept. Nothing of it is given out; tell who runs the system."""
