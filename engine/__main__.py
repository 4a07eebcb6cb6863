"""`python -m engine COMMAND`: the engine alone, for people. Bad input is one clear line and exit status 2."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from engine.command_line import options as command_options
from engine.command_line import region, sequences, tables, tracing, variants
from engine.errors import EngineError, InvalidRequest
from engine.loading import load

_BAD_INPUT = 2
_COMMANDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "score": (sequences.read, sequences.score),
    "generate": (sequences.read, sequences.generate),
    "next": (sequences.read, sequences.following),
    "embed": (sequences.read, sequences.embed),
    "variants": (variants.read, variants.score),
    "scan": (region.read, region.score),
    "trace": (tracing.read, tracing.run),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = command_options.parser().parse_args(arguments)
    read, answer = _COMMANDS[options.command]
    try:
        config = command_options.engine_config(options)
        asked = read(options)  # before the model is loaded: bad input is told at once
        engine = load(options.model, config=config)
        rows = list(answer(engine, asked, options))
        tables.write(rows, as_json=options.json)
        if all(row.get("state") == "refused" for row in rows):
            raise InvalidRequest(f"none of the {len(rows)} records could be scored; each row says why")
    except (EngineError, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"engine: {error}\n")
        return _BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
