"""What a tokenizer puts before a sequence and behind it, read from the post-processor of its tokenizer.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import ModelRefused

Around = tuple[tuple[int, ...], tuple[int, ...]]


def around(step: Any, symbols: Mapping[str, int], name: str, depth: int = 0) -> Around:
    """The ids before one sequence, and those behind it. ModelRefused where ids and names differ from the vocabulary's."""
    match step:
        case None | {"type": "ByteLevel"}:
            return (), ()
        case {"type": "TemplateProcessing", "single": list(pieces), "special_tokens": dict(special)}:
            return _template(pieces, special, symbols, name)
        case {"type": "BertProcessing" | "RobertaProcessing", "cls": [str(first), number], "sep": [str(last), other]}:
            return (_checked(first, number, symbols, name),), (_checked(last, other, symbols, name),)
        case {"type": "Sequence", "processors": list(steps)} if depth < 2:
            front: tuple[int, ...] = ()
            behind: tuple[int, ...] = ()
            for one in steps:
                outer = around(one, symbols, name, depth + 1)
                front, behind = (*outer[0], *front), (*behind, *outer[1])
            return front, behind
    kind = str(step.get("type") if isinstance(step, dict) else step)[:40]
    raise ModelRefused(f"the post-processor {kind!r} of {name} is not supported")


def _template(pieces: list[Any], special: dict[str, Any], symbols: Mapping[str, int], name: str) -> Around:
    sides: tuple[list[int], list[int]] = ([], [])
    side = 0
    for piece in pieces:
        match piece:
            case {"Sequence": {"id": "A"}} if side == 0:
                side = 1
            case {"SpecialToken": {"id": str(token)}} if isinstance(special.get(token), dict):
                match special[token]:
                    case {"ids": list(ids), "tokens": list(tokens)} if len(ids) == len(tokens):
                        sides[side].extend(_checked(one, number, symbols, name) for one, number in zip(tokens, ids, strict=True))
                    case _:
                        raise ModelRefused(f"the template of {name} gives {token[:40]!r} no ids")
            case _:
                raise ModelRefused(f"the template of {name} is not one sequence with tokens before and behind it")
    if side == 0:
        raise ModelRefused(f"the template of {name} has no place for the sequence")
    return tuple(sides[0]), tuple(sides[1])


def _checked(token: Any, number: Any, symbols: Mapping[str, int], name: str) -> int:
    if isinstance(token, str) and type(number) is int and symbols.get(token) == number:
        return number
    raise ModelRefused(
        f"{name} puts {str(token)[:40]!r} with the id {str(number)[:40]} around a sequence: no token of its vocabulary"
    )
