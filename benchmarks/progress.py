"""What a long measurement is at, on stderr: whoever waits half an hour wants to know what for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_SPOKE_EVERY = 20.0  # seconds between two lines about the same stage
_BEGUN = time.monotonic()


def stage(words: str) -> None:
    """Say what begins now, with the seconds since the program began."""
    print(f"{time.monotonic() - _BEGUN:7.0f} s  {words}", file=sys.stderr, flush=True)


def counted(words: str, items: Iterable[Item], of: int) -> Iterator[Item]:
    """The items, one after the other, and now and then how many of them there were."""
    stage(words)
    spoke = time.monotonic()
    for number, item in enumerate(items):
        if time.monotonic() - spoke >= _SPOKE_EVERY:
            spoke = time.monotonic()
            stage(f"{words}: {number} of {of}")
        yield item
