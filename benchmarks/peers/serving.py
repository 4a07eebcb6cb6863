"""An adapter's side of the conversation with the harness: read the job, make ready, answer round after round.

Standard library only: every adapter imports it inside its own environment. `benchmarks/peer.py` has the words of the conversation.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TextIO


class Refused(Exception):
    """This engine cannot do the job; the message says why, to a person."""


@dataclass(frozen=True, slots=True)
class Work:
    """Ids, and how many new ones are wanted after them."""

    tokens: list[int]
    limit: int


@dataclass(frozen=True, slots=True)
class Job:
    """What the harness asks for; the fields are explained in `benchmarks/peer.py`."""

    kind: str
    model: Path
    cache: Path
    work: list[Work]
    precision: str
    threads: int
    slots: int
    context: int
    first: int
    ids: list[int]


@dataclass(frozen=True, slots=True)
class Ready:
    """An engine that has its model and is warm. `round` does all the work of the job once."""

    version: str
    settings: dict[str, Any]
    round: Callable[[], list[Any]]


def read(path: Path) -> Job:
    """The job in a file. What this version does not know is left out."""
    told = json.loads(path.read_text())
    told["work"] = [Work(piece["tokens"], piece["limit"]) for piece in told["work"]]
    known = {field.name for field in fields(Job)}
    job: dict[str, Any] = {name: value for name, value in told.items() if name in known}
    job["model"], job["cache"] = Path(told["model"]), Path(told["cache"])
    return Job(**job)


def serve(prepare: Callable[[Job], Ready]) -> None:
    """Prepare for the job named on the command line, then answer until standard input ends."""
    voice = _only_voice()
    try:
        ready = prepare(read(Path(sys.argv[1])))
    except Refused as refusal:
        _say(voice, {"refused": str(refusal)})
        return
    _say(voice, {"ready": True, "version": ready.version, "settings": ready.settings})
    for line in sys.stdin:
        if line.strip() != "round":
            continue
        begun = time.perf_counter()
        answers = ready.round()
        _say(voice, {"seconds": time.perf_counter() - begun, "answers": answers})


def batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places of sequences of similar length, longest first, so that each batch padded to its longest holds at most `tokens`.

    A sequence longer than that goes alone.
    """
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def packed(lengths: Sequence[int], tokens: int, sequences: int) -> Iterator[list[int]]:
    """Places of at most `sequences` sequences, longest first, with at most `tokens` in all and no padding. Longer ones go alone."""
    pack: list[int] = []
    held = 0
    for place in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if pack and (held + lengths[place] > tokens or len(pack) == sequences):
            yield pack
            pack, held = [], 0
        pack.append(place)
        held += lengths[place]
    if pack:
        yield pack


def in_order(count: int, found: Iterable[tuple[int, Any]]) -> list[Any]:
    """Answers by place, from (place, answer) in any order."""
    answers: list[Any] = [None] * count
    for place, answer in found:
        answers[place] = answer
    return answers


def tuned(name: str, default: int) -> int:
    """A setting that can be tried out from outside: PEER_NAME in the environment, or what was found best."""
    return int(os.environ.get(f"PEER_{name.upper()}", default))


def _only_voice() -> TextIO:
    """Standard output for us alone; whatever else prints there is sent to standard error, from C and from child processes too."""
    voice = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return voice


def _say(voice: TextIO, words: dict[str, Any]) -> None:
    voice.write(json.dumps(words) + "\n")
    voice.flush()
