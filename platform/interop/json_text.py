"""JSON as RFC 8259 has it: no NaN, and no name twice, of which one would be lost."""

import json
from typing import Any


def read(body: bytes) -> Any:
    """What the text says. Raises ValueError, or RecursionError where it is nested too deeply."""
    return json.loads(body, parse_constant=_refuse, object_pairs_hook=_once)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found
