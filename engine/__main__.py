"""`python -m engine COMMAND`: the engine alone, for people. Bad input is one clear line and exit status 2."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from engine.command_line import inspecting, region, sequences, status, tables, tracing, variants
from engine.command_line import options as command_options
from engine.errors import EngineError

Command = Callable[[argparse.Namespace], int]  # the exit status

_SEQUENCES = tables.command(sequences.read, sequences.score)
_COMMANDS: dict[str, Command] = {
    "score": lambda options: _SEQUENCES(options) if options.vcf is None else variants.run(options),
    "generate": tables.command(sequences.read, sequences.generate),
    "next": tables.command(sequences.read, sequences.following),
    "embed": tables.command(sequences.read, sequences.embed),
    "scan": tables.command(region.read, region.score),
    "trace": tables.command(tracing.read, tracing.run),
    "inspect": tables.command(inspecting.read, inspecting.report),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = command_options.parser().parse_args(arguments)
    try:
        found = _COMMANDS[options.command](options)
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_standard_output()
        return status.NOBODY_READS
    except KeyboardInterrupt:
        sys.stderr.write("engine: interrupted\n")
        return status.INTERRUPTED
    except (EngineError, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"engine: {_sentence(error)}\n")
        _leave_standard_output()
        return status.BAD_INPUT
    return found


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _leave_standard_output() -> None:
    """What is still kept for it cannot be written, or must not be: the interpreter would try, and complain, when it ends."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminated(*_: object) -> NoReturn:
    """As Ctrl-C: what was half written is taken away."""
    sys.exit(status.TERMINATED)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(main())
