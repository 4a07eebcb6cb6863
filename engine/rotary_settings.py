"""Rotary settings of `config.json`, in the spelling of either generation of `transformers`, as frequencies.

Version 4 writes `rope_theta` and, where it is stretched, `rope_scaling`; version 5 writes both into `rope_parameters`. Keys that
say two things are refused rather than ranked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import ModelRefused
from engine.numbers import flag, positive, whole
from kernels.frequencies import Frequencies, Linear, Llama3, Plain, Yarn, yarn_magnitude

_THETA = 10_000.0  # where none is given
_STRETCH = 1 << 16  # largest factor; the longest published contexts are stretched by less than 200
_LONGEST = 1 << 24
_WITH_LENGTH = "the angle of a position depends on how long its sequence is, so one request would get other bits in longer company"
_REFUSED = {
    "dynamic": f"dynamic NTK: {_WITH_LENGTH}",
    "longrope": _WITH_LENGTH,
    "su": _WITH_LENGTH,
    "proportional": "only a part of each head is turned, and the kernels here turn all of it",
    "mrope": "positions have several axes, and a sequence of bases has one",
}


def frequencies_of(raw: Mapping[str, Any], context: int) -> Frequencies:
    """The frequencies that `config.json` asks for. ModelRefused says why another kind is not served."""
    rope = _settings(raw)
    theta = positive("rope_theta", rope.get("rope_theta", _THETA))
    kind = rope.get("rope_type", rope.get("type", "default"))
    if rope.get("type", kind) != kind:
        raise ModelRefused(f"the rotary parameters give two kinds, {str(kind)[:40]!r} and {str(rope['type'])[:40]!r}")
    if not isinstance(kind, str) or kind not in ("default", "linear", "llama3", "yarn"):
        reason = _REFUSED.get(kind, "it is not known here") if isinstance(kind, str) else "it is no name"
        raise ModelRefused(f"rotary scaling of the kind {str(kind)[:40]!r} is not served: {reason}")
    part = rope.get("partial_rotary_factor", raw.get("partial_rotary_factor"))
    if part not in (None, 1, 1.0):
        raise ModelRefused("partial_rotary_factor is not served: only a part of each head is turned, and the kernels here turn all")
    if kind == "default":
        return Plain(theta)
    if kind == "linear":
        return Linear(theta, _factor(rope))
    original = raw.get("original_max_position_embeddings", rope.get("original_max_position_embeddings", context))
    original = whole("original_max_position_embeddings", original, _LONGEST)
    return _llama3(rope, theta, original) if kind == "llama3" else _yarn(rope, theta, original, context)


def _settings(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The one set of rotary settings, with `rope_theta` where any place gives it."""
    given = [raw[key] for key in ("rope_parameters", "rope_scaling") if raw.get(key) not in (None, {})]
    for settings in given:
        if not isinstance(settings, dict):
            raise ModelRefused(f"the rotary parameters must be an object, not {str(settings)[:60]!r}")
        if any(isinstance(value, dict) for value in settings.values()):
            raise ModelRefused("the rotary parameters differ from layer to layer, and this engine turns all layers alike")
    if len(given) == 2 and given[0] != given[1]:
        raise ModelRefused("rope_parameters and rope_scaling of config.json say different things")
    settings = dict(given[0]) if given else {}
    thetas = [place["rope_theta"] for place in (raw, settings) if place.get("rope_theta") is not None]
    if len(thetas) == 2 and thetas[0] != thetas[1]:
        raise ModelRefused(f"config.json gives two values of rope_theta: {str(thetas[0])[:40]} and {str(thetas[1])[:40]}")
    return settings | ({"rope_theta": thetas[0]} if thetas else {"rope_theta": _THETA})


def _factor(rope: Mapping[str, Any]) -> float:
    if rope.get("factor") is None:
        raise ModelRefused(f"the rotary parameters of the kind {rope.get('rope_type', rope.get('type'))} have no factor")
    return positive("the rotary factor", rope["factor"], _STRETCH, 1.0)


def _llama3(rope: Mapping[str, Any], theta: float, original: int) -> Llama3:
    for key in ("low_freq_factor", "high_freq_factor"):
        if key not in rope:
            raise ModelRefused(f"the rotary parameters of the kind llama3 have no {key}")
    low, high = (positive(key, rope[key]) for key in ("low_freq_factor", "high_freq_factor"))
    if low >= high:
        raise ModelRefused("high_freq_factor must be above low_freq_factor")
    return Llama3(theta, _factor(rope), low, high, original)


def _yarn(rope: Mapping[str, Any], theta: float, original: int, context: int) -> Yarn:
    """`factor` is taken at its word; some releases of version 4 put the ratio of the two contexts in its place."""
    factor = _factor(rope) if rope.get("factor") is not None else positive("the rotary factor", context / original, _STRETCH, 1.0)
    scale, over = (rope.get(key) or 0.0 for key in ("mscale", "mscale_all_dim"))
    if rope.get("attention_factor") is not None:
        magnitude = positive("attention_factor", rope["attention_factor"], _STRETCH)
    elif scale and over:
        scales = positive("mscale", scale, _STRETCH), positive("mscale_all_dim", over, _STRETCH)
        magnitude = yarn_magnitude(factor, scales[0]) / yarn_magnitude(factor, scales[1])
    else:
        magnitude = yarn_magnitude(factor)
    fast, slow = positive("beta_fast", rope.get("beta_fast") or 32.0), positive("beta_slow", rope.get("beta_slow") or 1.0)
    if fast <= slow or theta <= 1.0:
        raise ModelRefused("under YaRN beta_fast must be above beta_slow, and rope_theta above 1")
    return Yarn(theta, factor, original, magnitude, fast, slow, flag("truncate", rope.get("truncate", True)))
