"""What a person at the terminal sees while things start: one line a step, with its time."""

import contextlib
import time
from collections.abc import Iterator


def say(text: str) -> None:
    """One whole line, at once, also through a pipe."""
    print(text, flush=True)  # noqa: T201 - the terminal is this program's page


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Print the name, then how long it took, or that it failed."""
    started = time.monotonic()
    print(f"  {name} … ", end="", flush=True)  # noqa: T201
    try:
        yield
    except BaseException:
        say("")
        raise
    say(f"{time.monotonic() - started:.1f} s")
