"""An answer as files: which kinds of question have which, and their bytes. All say for whom they are not."""

import csv
import io
import json
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from questions import answers
from questions.answers import Answer
from questions.models import Question

USE = "research use, no report"
_SCORES = [
    "number", "name", "length", "strand", "scored_bases", "tokens", "log_likelihood", "log_likelihood_per_base", "flags", "failure",
    "model", "fingerprint", "use",
]  # fmt: skip
MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "npy": "application/octet-stream",
    "fasta": "text/x-fasta; charset=utf-8",
}
# A spreadsheet takes what begins with one of these for a formula, full-width signs as well.
_DANGEROUS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r")


def offered(question: Question) -> list[str]:
    """The files of a question's answer, by name."""
    return {"score": ["scores.csv", "bases.csv", "answer.json"], "continue": ["continuations.fasta", "answer.json"]}.get(
        question.kind, ["vectors.csv", "vectors.npy", "answer.json"]
    )


def made(question: Question, name: str) -> bytes:
    """One of them. Raises `KeyError` where the answer has no such file."""
    if name not in offered(question):
        raise KeyError(name)
    return _MAKERS[name](question, answers.answers(question))


def body(question: Question, found: Iterable[Answer]) -> dict[str, Any]:
    """The whole answer as plain values."""
    run = question.run
    return {
        "question": str(question.pk), "use": USE, "kind": question.kind, "settings": settings_of(question),
        "model": str(run.model_version), "deployment": run.deployment_id, "precision": run.precision,
        "sequences": [_plain(question, one) for one in found],
    }  # fmt: skip


def settings_of(question: Question) -> dict[str, Any]:
    """What was asked for, the seed of what is drawn included."""
    said = {name: value for name, value in question.run.protocol.items() if name != "kind"}
    return said | ({"seed": question.run.seed} if question.kind == "continue" else {})


def numpy_array(vectors: Sequence[Sequence[float]]) -> bytes:
    """A matrix of float64 in NumPy's format, version 1.0: one row a sequence; of one without an answer NaN.

    The mean over all positions is a float64, which float32 would round.
    """
    width = max(map(len, vectors), default=0)
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(vectors)}, {width}), }}"
    padded = header + " " * (-(len(header) + 11) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode()
    return head + b"".join(struct.pack(f"<{width}d", *(row or [math.nan] * width)) for row in vectors)


def _plain(question: Question, one: Answer) -> dict[str, Any]:
    about: dict[str, Any] = {
        "number": one.number, "name": one.name, "length": one.length, "failure": one.failure, "flags": list(one.flags),
        "fingerprint": one.fingerprint, "batch_invariant": one.batch_invariant,
    }  # fmt: skip
    if question.kind == "score":
        strands = [{"strand": strand.name, **_without(strand.__dict__, "name")} for strand in one.strands]
        return {**about, "log_likelihood": one.log_likelihood, "log_likelihood_per_base": one.per_base, "strands": strands}
    if question.kind == "continue":
        return {**about, "samples": [sample.__dict__ for sample in one.samples]}
    return {**about, "positions": one.positions, "vector": list(one.vector)}


def _without(said: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in said.items() if key != name}


def _json(question: Question, found: list[Answer]) -> bytes:
    return json.dumps(body(question, found)).encode()


def _scores(question: Question, found: list[Answer]) -> bytes:
    return _table(_SCORES, (row for one in found for row in _score_rows(question, one)))


def _score_rows(question: Question, one: Answer) -> Iterator[list[Any]]:
    about, end = [one.number, one.name, one.length], [question.run.model_version, one.fingerprint, USE]
    flags = " ".join(one.flags)
    for strand in one.strands:
        yield [*about, strand.name, strand.bases, strand.tokens, strand.log_likelihood, strand.per_base, flags, "", *end]
    if not one.strands:
        yield [*about, "", "", "", "", "", flags, one.failure, *end]


def _bases(question: Question, found: list[Answer]) -> bytes:
    columns = ["number", "name", "strand", "first_base", "last_base", "letters", "log_probability"]
    return _table(columns, (row for one in found for row in _base_rows(one)))


def _base_rows(one: Answer) -> Iterator[list[Any]]:
    for strand in one.strands:
        for first, last, value in strand.spans(one.length):
            yield [one.number, one.name, strand.name, first, last, one.sequence[first - 1 : last], value]


def _fasta(question: Question, found: list[Answer]) -> bytes:
    return "".join(_record(question, one, sample) for one in found for sample in one.samples).encode()


def _record(question: Question, one: Answer, sample: answers.Sample) -> str:
    head = f">{one.name}_continued_{sample.number} seed={question.run.seed} model={question.run.deployment_id} {USE}"
    return "\n".join([head, *sample.lines]) + "\n"


def _vectors(question: Question, found: list[Answer]) -> bytes:
    width = max((len(one.vector) for one in found), default=0)
    columns = ["number", "name", "length", "positions", "failure", *(f"v{place}" for place in range(width))]
    rows = ([one.number, one.name, one.length, one.positions, one.failure, *one.vector] for one in found)
    return _table(columns, rows)


def _array(question: Question, found: list[Answer]) -> bytes:
    return numpy_array([one.vector for one in found])


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """Text that begins like a formula is kept from being one; numbers are written so that they are read as the same."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_DANGEROUS) else value


_MAKERS: dict[str, Callable[[Question, list[Answer]], bytes]] = {
    "answer.json": _json, "scores.csv": _scores, "bases.csv": _bases, "continuations.fasta": _fasta, "vectors.csv": _vectors,
    "vectors.npy": _array,
}  # fmt: skip
