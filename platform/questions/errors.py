"""Errors of the questions app.

foundation.Refused
├── InvalidQuestion    something of it must be corrected (field by field; a fault of the text with its line)
└── QuestionConflict   its person has asked something else under the same key
"""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from foundation.errors import Refused
from foundation.reasons import Reason


class InvalidQuestion(Refused):
    """Some of it has to be corrected. `named`: the patients whom a sequence is named like."""

    def __init__(self, fields: Mapping[str, Sequence[str]], named: Collection[UUID] = ()) -> None:
        super().__init__(Reason.QUESTION_INVALID.words, code=str(Reason.QUESTION_INVALID))
        self.fields = {name: list(said) for name, said in fields.items()}
        self.named = frozenset(named)


class QuestionConflict(Refused):
    """He asked something else under this key. `question`: that one."""

    def __init__(self, question: UUID, short: str) -> None:
        super().__init__(Reason.QUESTION_CONFLICT.say(question=short), code=str(Reason.QUESTION_CONFLICT))
        self.question = question
