"""What somebody wants to know, and whether it can be asked: settings by kind, within bounds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from questions import wording
from questions.errors import InvalidQuestion

MOST_GENERATED = 20_000  # bases of one question
LARGEST_SEED = 2**63 - 1
STRANDS = {"both": "both strands", "forward": "as typed", "reverse": "reverse complement"}
POOLINGS = {"mean": "mean over all positions", "last": "last position"}
# setting → kind it belongs to, and its usual value
SETTINGS: dict[str, tuple[str, Any]] = {
    "strand": ("score", "both"),
    "length": ("continue", 60),
    "temperature": ("continue", 1.0),
    "top_k": ("continue", 0),
    "samples": ("continue", 1),
    "seed": ("continue", None),
    "pooling": ("embed", "mean"),
}
_WHOLE = {"length": (1, 10_000), "top_k": (0, 100_000), "samples": (1, 10), "seed": (0, LARGEST_SEED)}
_WARMEST, _COLDEST = 10.0, 0.000001  # a colder draw than the latter is greedy, and is said as 0


@dataclass(frozen=True)
class QuestionRequest:
    """A question before it is asked. Settings that are not given, or None, have their usual values."""

    laboratory_id: UUID
    deployment: str
    kind: str
    text: str
    priority: str = "routine"
    settings: Mapping[str, Any] = field(default_factory=dict)


def settled(request: QuestionRequest) -> dict[str, Any]:
    """The settings of its kind, checked. Raises `InvalidQuestion` on each that is wrong or belongs to another kind."""
    faults: dict[str, list[str]] = {}
    given = {name: value for name, value in request.settings.items() if value is not None}
    for name in given:
        if SETTINGS[name][0] != request.kind:
            faults[name] = [wording.SETTING]
    own = {name: given.get(name, usual) for name, (kind, usual) in SETTINGS.items() if kind == request.kind}
    for name, value in own.items():
        wanted = _wanted(name, value)
        if wanted and value is not None:
            faults[name] = [wording.NUMBER.format(wanted=wanted)]
    if not faults and own.get("samples", 1) > 1 and own["temperature"] == 0:
        faults["samples"] = [wording.SAME_SAMPLES]
    if faults:
        raise InvalidQuestion(faults)
    return own


def _wanted(name: str, value: Any) -> str:
    """What would be right; blank: it is."""
    if name in _WHOLE:
        low, high = _WHOLE[name]
        whole = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return "" if whole else f"a whole number from {low:,} to {high:,}"
    if name == "temperature":
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        right = number and (value == 0 or _COLDEST <= value <= _WARMEST)
        return "" if right else f"0, or a number from {_COLDEST:f} to {_WARMEST:g}"
    choices = STRANDS if name == "strand" else POOLINGS
    return "" if value in choices else "one of " + ", ".join(choices)
