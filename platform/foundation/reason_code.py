"""What every reason code is: a code that never changes its meaning, and the sentence that a person reads."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class ReasonCode(StrEnum):
    """A code and the sentence a laboratory person reads; `{…}` is filled in by `say`."""

    words: str

    def __new__(cls, code: str, words: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.words = words
        return member

    def say(self, **values: object) -> str:
        return self.words.format(**values)
