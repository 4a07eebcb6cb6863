"""Which published families this engine computes: one shared block, and a file for each where it differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.architectures.family import Family
from engine.architectures.llama import LLAMA
from engine.architectures.mistral import MISTRAL
from engine.architectures.qwen2 import QWEN2
from engine.architectures.qwen3 import QWEN3
from engine.architectures.refused import refuse_the_known
from engine.errors import ModelRefused

FAMILIES = (LLAMA, MISTRAL, QWEN2, QWEN3)


def family_of(raw: Mapping[str, Any]) -> Family:
    """The family that `config.json` names. ModelRefused says why another one is not served."""
    names, kind = raw.get("architectures"), raw.get("model_type")
    given = [*(names if isinstance(names, list) else [names]), kind]
    given = [name for name in given if name is not None]
    if not given or not all(isinstance(name, str) for name in given):
        raise ModelRefused(f"{_served()}, and config.json names none: architectures = {names!r}, model_type = {kind!r}"[:400])
    refuse_the_known(given)
    if _made_by_code(raw.get("auto_map")):
        raise ModelRefused(
            "config.json has auto_map: Python code in the folder makes this model, and no code of a folder is ever run"
        )
    fitting = [family for family in FAMILIES if all(name in family.names for name in given)]
    if fitting and kind != fitting[0].model_type and any(name in fitting[0].aliases for name in given):
        said = f"model_type must be {fitting[0].model_type!r} with it, and is {kind!r}"[:200]
        raise ModelRefused(f"{given[0]} is read as {fitting[0].architecture} where config.json says that it is one: {said}")
    if not fitting:
        raise ModelRefused(f"{_served()}, and config.json names {', '.join(given)}"[:400])
    return fitting[0]


def _made_by_code(auto_map: Any) -> bool:
    """Whether code of the folder makes the model or its configuration. One that makes the tokenizer alone has no use here."""
    return bool(auto_map) and not (isinstance(auto_map, dict) and set(auto_map) == {"AutoTokenizer"})


def _served() -> str:
    return f"this engine runs {' and '.join(family.architecture for family in FAMILIES)}"
