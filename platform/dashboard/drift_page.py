"""The pages of drift: a light for each stream with its reason, and a stream with its pictures, tables and calls."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from accounts.roles import Verb
from dashboard import drift_picture
from drift import calls, features, references, selectors
from drift.models import FrozenReference, Window
from drift.references import Period
from drift.thresholds import WINDOWS
from foundation.actor import Actor
from foundation.errors import NotFound, Refused


@dataclass(frozen=True)
class Light:
    """What a stream says, in words."""

    words: str
    mark: str  # class of the tag
    sign: str
    why: str
    do: str


_LEARN = WINDOWS.fitted + WINDOWS.burn_in
_LOOK = "Look at the distribution and at what changed: a site, a file source, a worker. Then close the call with what it was."
LIGHTS = {
    "none": Light("no window yet", "routine", "○", "The first day after the reference is not over or counted yet.", "Nothing."),
    "few": Light("too few results", "routine", "○", f"Fewer than {WINDOWS.least:,} results: they are carried into the next day.",
                 "Nothing: this says neither good nor bad."),
    "learning": Light("learning", "urgent", "◐", f"The first {_LEARN} windows show how the stream behaves; only one far off calls.",
                      "Nothing."),
    "steady": Light("steady", "ok", "●", "No test over time has evidence of a change.", "Nothing."),
    "moved": Light("moved", "asap", "▲", "There is evidence of a change or a slow wander, not beyond the gate or not of the mean.",
                   "Look at it when there is time: it calls nobody."),
    "page": Light("call", "stat", "▲", "The mean has moved beyond the gate.", _LOOK),
    "gross": Light("call", "stat", "▲", f"One window alone is more than {WINDOWS.gross} away.", _LOOK),
    "gap": Light("gap", "asap", "▲", "Results of this day are missing from the record, or hours were not counted.",
                 "Ask the operator: the log says drift.not_recorded."),
    "late": Light("not followed", "asap", "▲", f"There is no window of the last {selectors.LATE} days.",
                  "Ask the operator whether beat and the platform worker run."),
}  # fmt: skip


def overview(actor: Actor) -> dict[str, Any]:
    """A light for each stream, the calls first, and how the recording stands."""
    found = [_row(one) for one in selectors.streams(actor)]
    urgency = {"stat": 0, "asap": 1}
    found.sort(key=lambda row: urgency.get(row["light"].mark, 2))
    return {"rows": found, "recording": selectors.recording(actor), "tests": selectors.tests(actor)}


def stream(actor: Actor, pk: UUID) -> dict[str, Any]:
    """One stream. Raises `NotFound` to a stranger."""
    one, windows, called = selectors.stream(actor, pk)
    reference, newest = one.reference, next((window for window in windows if window.n), None)
    may = actor.may(Verb.KEEP_DRIFT, reference.organisation_id)
    said: dict[str, Any] = {
        **_row(one), "windows": [_line(window) for window in windows], "calls": called, "may": may, "newest": newest,
        "calling": reference.feature in features.CALLING, "deviation": references.deviation(reference),
        "mean": reference.total / reference.n, "test": reference.test_version if may else None,
    }  # fmt: skip
    if newest is not None:
        said["shares"] = _shares(reference, newest)
        said["distributions"] = [drift_picture.distribution(reference, newest, width) for width in drift_picture.WIDTHS]
        said["histories"] = [drift_picture.history(windows[::-1], width) for width in drift_picture.WIDTHS]
    return said


def answer(actor: Actor, pk: UUID, said: Mapping[str, str]) -> str:
    """See to a call or close it; what was done, in words."""
    if said.get("do") == "acknowledge":
        calls.acknowledge(actor=actor, pk=pk)
        return "You see to this call."
    calls.close(actor=actor, pk=pk, reason=said.get("reason", ""))
    return "The call is closed. What the stream learnt stays; its evidence begins anew."


def freeze(actor: Actor, said: Mapping[str, str]) -> str:
    """Freeze a reference from the form; what was frozen, in words."""
    test = next((one for one in selectors.tests(actor) if str(one.pk) == said.get("test")), None)
    if test is None:
        raise NotFound
    try:
        period = Period(date.fromisoformat(said.get("since", "")), date.fromisoformat(said.get("until", "")))
    except ValueError:
        raise Refused("Say from which day to which day results are taken.") from None
    made = references.freeze(actor=actor, test=test, period=period)
    return f"Frozen from {made[0].n:,} results of {test}: {', '.join(one.get_feature_display() for one in made)}."


def _row(one: selectors.Stream) -> dict[str, Any]:
    return {"stream": one, "reference": one.reference, "window": one.window, "light": LIGHTS[one.verdict], "call": one.call}


def _line(window: Window) -> dict[str, Any]:
    evidence = {"plain": _evidence(window.plain), "whitened": _evidence(window.whitened)}
    return {"window": window, "light": LIGHTS[window.verdict], **evidence}


def _evidence(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"


def _shares(reference: FrozenReference, window: Window) -> list[tuple[str, str, str]]:
    """A row for each bin: between which edges, the share then, the share now."""
    names = [f"below {reference.edges[0]:.4g}"]
    names += [f"{low:.4g} to {high:.4g}" for low, high in zip(reference.edges, reference.edges[1:], strict=False)]
    names.append(f"from {reference.edges[-1]:.4g} on")
    then, now = sum(reference.counts), sum(window.counts)
    pairs = zip(names, reference.counts, window.counts, strict=True)
    return [(name, f"{100 * before / then:.2f} %", f"{100 * after / now:.2f} %") for name, before, after in pairs]
