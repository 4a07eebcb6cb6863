"""Numbers of `config.json`, each checked for kind and range before anything is made from it."""

from __future__ import annotations

import math

from engine.errors import ModelRefused

LARGEST = 1 << 20  # of any size in config.json: far above real models, and the tables made from it still fit into memory


def whole(key: str, value: object, largest: int = LARGEST) -> int:
    """A whole number from 1 to `largest`. ModelRefused names the key."""
    if type(value) is not int or not 1 <= value <= largest:  # bool is an int, and no size
        raise ModelRefused(f"{key} must be a whole number between 1 and {largest}, not {_short(value)}")
    return value


def positive(key: str, value: object, largest: float = math.inf, least: float = 0.0) -> float:
    """A finite number above 0, from `least` to `largest`. ModelRefused names the key."""
    if type(value) not in (int, float) or not 0 < float(str(value)) < math.inf or not least <= float(str(value)) <= largest:
        bounds = "a finite number above 0" if (least, largest) == (0.0, math.inf) else f"a number from {least:g} to {largest:g}"
        raise ModelRefused(f"{key} must be {bounds}, not {_short(value)}")
    return float(str(value))


def flag(key: str, value: object) -> bool:
    """True or false. ModelRefused names the key."""
    if not isinstance(value, bool):
        raise ModelRefused(f"{key} must be true or false, not {_short(value)}")
    return value


def _short(value: object) -> str:
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:60] + "…"
