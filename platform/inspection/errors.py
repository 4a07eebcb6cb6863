"""What is refused when an audit report is asked for.

foundation.Refused
└── InvalidAsked    fields that have to be corrected
"""

from collections.abc import Mapping

from foundation.errors import Refused


class InvalidAsked(Refused):
    """The report cannot be made as it was asked for."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        super().__init__(" ".join(words for said in fields.values() for words in said), code="audit.asked")
        self.fields = fields
