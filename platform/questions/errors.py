"""Errors of the questions app.

foundation.Refused
└── InvalidQuestion    something of it must be corrected (field by field; a fault of the text with its line)
"""

from collections.abc import Mapping, Sequence

from foundation.errors import Refused
from foundation.reasons import Reason


class InvalidQuestion(Refused):
    """Some of it has to be corrected."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        super().__init__(Reason.QUESTION_INVALID.words, code=str(Reason.QUESTION_INVALID))
        self.fields = {name: list(said) for name, said in fields.items()}
