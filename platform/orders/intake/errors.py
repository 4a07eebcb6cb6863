"""What can go wrong around the check itself.

IntakeError
├── FileRefused          the file as a whole cannot be taken; becomes a fatal Problem, never leaves `Check`
├── FileChanged          the file is no longer the one that was checked
├── NotFinished          the summary was asked for before the last verdict was read
└── ReferenceUnusable    the reference, not the file, is at fault
"""

from __future__ import annotations

from foundation.file_reasons import FileReason


class IntakeError(Exception):
    """The intake check could not be carried out."""

    permanent = True

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or ""))


class FileRefused(IntakeError):
    """The file as a whole cannot be taken."""

    def __init__(self, reason: FileReason, *, at_line: int | None = None, **values: object) -> None:
        super().__init__(reason.say(**values))
        self.reason = reason
        self.line = at_line


class FileChanged(IntakeError):
    """The file is no longer the one that was checked."""


class NotFinished(IntakeError):
    """The file verdict exists only after the last verdict was read."""


class ReferenceUnusable(IntakeError):
    """The reference sequence cannot be read."""
