"""What a log may say of an error or a request: where and of which kind, never the record number or the name it was about.

PostgreSQL writes the values of the row into its errors (DETAIL, CONTEXT, the quoted statement, values it could not read), and
searches stand in addresses.
"""

import logging
import re
import sys
import threading
import traceback
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any

import django.db
import psycopg

DATABASE_ERRORS = (psycopg.Error, django.db.Error)
DATA_ERRORS = (psycopg.DataError, django.db.DataError)
_QUOTED = re.compile(r'".*"', re.DOTALL)
# also as `repr` shows it; up to the end, since a value may hold line ends and look like anything
_VALUES = re.compile(r"(?:\n|\\n)(?:DETAIL|CONTEXT|QUERY|LINE \d+):.*", re.DOTALL)

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Formatter(logging.Formatter):
    """Lines of the standard library's loggers."""

    def format(self, record: logging.LogRecord) -> str:
        """Never with a traceback that another formatter has left on the record."""
        record.exc_text = None
        try:
            return super().format(record)
        finally:
            record.exc_text = None

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Some callers put an error's text into their message."""
        record.message = without_values(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: ExcInfo) -> str:
        """The traceback without values."""
        return traceback_of(ei)


class WithoutQuery(logging.Filter):
    """uvicorn's access lines without what was asked for: (client, method, address, version, status)."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten the address in place."""
        if isinstance(record.args, tuple):
            record.args = tuple(arg.partition("?")[0] if isinstance(arg, str) else arg for arg in record.args)
        return True


def event_without_values(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor: errors and their texts among an event's values."""
    return {key: _shown(value) for key, value in event.items()}


def traceback_of(exc_info: ExcInfo) -> str:
    """As Python prints it, causes first; errors of the database in the words of `said`."""
    return _chain(exc_info[1], frozenset()).rstrip("\n") if exc_info[1] is not None else ""


def guard() -> None:
    """What nobody catches ends a command or a thread on the terminal or in a log file: it is written without values too."""
    sys.excepthook = lambda kind, error, trace: _last_words(error)
    threading.excepthook = lambda ended: _last_words(ended.exc_value)


def _last_words(error: BaseException | None) -> None:
    if error is not None and not isinstance(error, SystemExit):  # a thread may end itself with one
        sys.stderr.write(traceback_of((type(error), error, error.__traceback__)) + "\n")


def said(error: BaseException) -> str:
    """The first line of a database error, without the values it quotes."""
    text = str(error)
    if isinstance(error, DATA_ERRORS):
        text = _QUOTED.sub('"…"', text)
    return text.partition("\n")[0]


def without_values(text: str) -> str:
    """A text without the part of a database error that shows the row."""
    return _VALUES.sub(" (values left out)", text)


def _shown(value: Any) -> Any:
    if isinstance(value, BaseException):
        return _last_line(value)
    return without_values(value) if isinstance(value, str) else value


def _chain(error: BaseException, seen: frozenset[int]) -> str:
    seen |= {id(error)}
    parts: list[str] = []
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen:
        parts += [_chain(before, seen), "\nwhich led to:\n\n"]
    parts += ["Traceback (most recent call last):\n", *traceback.format_tb(error.__traceback__), _last_line(error), "\n"]
    if isinstance(error, BaseExceptionGroup):
        parts += [_chain(member, seen) for member in error.exceptions if id(member) not in seen]
    return "".join(parts)


def _last_line(error: BaseException) -> str:
    if isinstance(error, DATABASE_ERRORS):
        return f"{type(error).__module__}.{type(error).__qualname__}: {said(error)}"
    return without_values("".join(traceback.format_exception_only(error)).rstrip("\n"))
