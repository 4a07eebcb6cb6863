"""What a tokenizer.json does to text before its vocabulary sees it: read where it leaves a run of letters whole, else refused.

A sequence is one run of letters. Steps that leave such a run as it is need not be repeated, and a pattern out of a stranger's
file is never run: some take longer than the universe will last.
"""

from __future__ import annotations

from typing import Any

from engine.errors import ModelRefused

_WHOLE = ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Punctuation", "Digits")  # leave a run of letters whole
_SAME = ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Strip", "StripAccents")  # change no letter of A to Z
_DEEPEST = 2  # lists of steps within lists


def lowers(step: Any, name: str, depth: int = 0) -> bool:
    """Whether a normalizer makes letters lower-case; ModelRefused where it does anything else to them."""
    match step:
        case None:
            return False
        case {"type": "Lowercase"}:
            return True
        case {"type": "BertNormalizer"}:
            return step.get("lowercase", True) is True
        case {"type": "Sequence", "normalizers": list(steps)} if depth < _DEEPEST:
            lowered = [lowers(one, name, depth + 1) for one in steps]  # every step is looked at
            return any(lowered)
        case {"type": kind} if kind in _SAME:
            return False
    raise ModelRefused(f"the normalizer {_kind(step)} of {name} is not supported")


def byte_levels(step: Any, name: str, depth: int = 0) -> list[dict[str, Any]]:
    """The steps of a pre-tokenizer that make symbols of bytes; ModelRefused where one may cut a run of letters."""
    match step:
        case None:
            return []
        case {"type": "Sequence", "pretokenizers": list(steps)} if depth < _DEEPEST:
            return [found for one in steps for found in byte_levels(one, name, depth + 1)]
        case {"type": "ByteLevel"}:
            return [step]
        case {"type": kind} if kind in _WHOLE:
            return []
    raise ModelRefused(f"the pre-tokenizer {_kind(step)} of {name} may cut a sequence and is not supported")


def _kind(step: object) -> str:
    return repr(str(step.get("type") if isinstance(step, dict) else step)[:40])
