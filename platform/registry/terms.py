"""What a test version promises by priority: how soon, and how many people sign. Complete and possible, or a refusal in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from registry.errors import RegistrationRefused
from registry.priority import Priority

INPUTS = ("vcf", "fasta", "fastq")
SLA = {"stat": [1, 15], "asap": [30, 120], "urgent": [120, 480], "routine": [720, 1440]}  # minutes to scored, to released
SIGNATURES = dict.fromkeys(Priority.values, 1)
LONGEST = 366 * 24 * 60  # minutes
_NAMES = ", ".join(Priority.values)


def checked(accepts: Sequence[str], sla_minutes: Mapping[str, Sequence[int]], signatures: Mapping[str, int]) -> dict[str, Any]:
    """The columns of a test version. Raises `RegistrationRefused`."""
    if not accepts or set(accepts) - set(INPUTS):
        raise _refused(f"a test accepts one or more of {', '.join(INPUTS)}")
    for what, said in (("due times", sla_minutes), ("signatures", signatures)):
        if set(said) != set(Priority.values):
            raise _refused(f"{what} are given for each of {_NAMES}, and for nothing else")
    for priority, (scored, released) in sla_minutes.items():
        if not 1 <= scored <= released <= LONGEST:
            raise _refused(f"{priority} is due at least a minute after acceptance, scored before released, within a year")
    for priority, number in signatures.items():
        if number not in (1, 2):
            raise _refused(f"one or two people sign, not {number} ({priority})")
    return {
        "accepts": list(dict.fromkeys(accepts)),
        "sla_minutes": {priority: list(minutes) for priority, minutes in sla_minutes.items()},
        "signatures": dict(signatures),
    }


def read_sla(text: str) -> dict[str, list[int]]:
    """`stat=1/15,routine=720/1440`, minutes to scored and to released; what is not named stays as usual."""
    return SLA | {name: _pair(name, said) for name, said in _named(text, "--sla", "stat=1/15").items()}


def read_signatures(text: str) -> dict[str, int]:
    """`stat=1,routine=2`; one where nothing is said."""
    given = _named(text, "--signatures", "routine=2")
    for name, said in given.items():
        if said not in ("1", "2"):
            raise _refused(f"--signatures: one or two people sign, not {said!r} ({name})")
    return SIGNATURES | {name: int(said) for name, said in given.items()}


def _named(text: str, option: str, example: str) -> dict[str, str]:
    """priority → what is said of it."""
    found: dict[str, str] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, equals, said = (one.strip() for one in part.partition("="))
        if not equals or name not in Priority.values:
            raise _refused(f"{option}: {part!r} is not understood; write it as {example}, with {_NAMES}")
        if name in found:
            raise _refused(f"{option}: {name} is given twice")
        found[name] = said
    return found


def _pair(name: str, said: str) -> list[int]:
    numbers = said.split("/")
    if len(numbers) != 2 or not all(one.isascii() and one.isdecimal() and len(one) < 8 for one in numbers):
        raise _refused(f"--sla: {name} wants minutes to scored and to released, as in {name}=30/120, not {said!r}")
    return [int(one) for one in numbers]


def _refused(said: str) -> RegistrationRefused:
    return RegistrationRefused(said, code="test.policy")
