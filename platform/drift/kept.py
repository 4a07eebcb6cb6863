"""The state of a stream as JSON and back, to the last bit: an audit takes every step again from it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, cast

from drift.sequential import Whitened, WindowTest
from drift.streams import Light, Stream, Window
from drift.thresholds import WindowPlan

_NOUNS = {one.__name__: one for one in (Stream, Window, WindowTest, Whitened, WindowPlan)}


def written(stream: Stream) -> dict[str, Any]:
    """As JSON. Floats are hexadecimal: no digit is lost, and minus infinity has a spelling."""
    return cast(dict[str, Any], _written(stream))


def read(kept: dict[str, Any]) -> Stream:
    """What `written` wrote."""
    return cast(Stream, _read(kept))


def _written(value: Any) -> Any:
    if isinstance(value, Light):
        return {"light": value.value}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    if is_dataclass(value):
        return {"noun": type(value).__name__, **{one.name: _written(getattr(value, one.name)) for one in fields(value)}}
    return value


def _read(kept: Any) -> Any:
    if isinstance(kept, list):
        return tuple(_read(one) for one in kept)
    if not isinstance(kept, dict):
        return kept
    if "float" in kept:
        return float.fromhex(kept["float"])
    if "light" in kept and len(kept) == 1:
        return Light(kept["light"])
    return _NOUNS[kept["noun"]](**{name: _read(value) for name, value in kept.items() if name != "noun"})
