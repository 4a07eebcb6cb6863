"""Ctrl-C, SIGTERM and a closed terminal all mean the same: stop everything, once."""

import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """Somebody wants the whole thing to end. Not an Exception: no code that handles errors may swallow it."""


def install() -> None:
    """From now on the first such signal raises StopRequested in the main thread; later ones are ignored, as stopping is bounded."""
    for number in STOP_SIGNALS:
        signal.signal(number, _request)


def _request(_number: int, _frame: FrameType | None) -> None:
    for each in STOP_SIGNALS:
        # not SIG_IGN, which every process started later would inherit
        signal.signal(each, _ignore)
    raise StopRequested


def _ignore(_number: int, _frame: FrameType | None) -> None:
    return None
