"""The answer to a question, sequence by sequence, as far as it is there; read only by who may see the question."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine_queue.models import Item, Result
from questions.models import Question

WRAPPED = 60  # bases on a line


@dataclass(frozen=True)
class Strand:
    """One reading of a sequence. Token i covers bases [starts[i], starts[i + 1]), counted from 0 along this strand."""

    name: str  # forward | reverse
    log_likelihood: float  # nats
    per_base: float
    bases: int
    tokens: int
    starts: Sequence[int]
    log_probabilities: Sequence[float]

    def spans(self, length: int) -> list[tuple[int, int, float]]:
        """Of each token its bases as the sequence was typed, first and last counted from 1, and its log-probability."""
        pairs = zip(self.starts, self.starts[1:], self.log_probabilities, strict=False)
        if self.name == "forward":
            return [(start + 1, end, value) for start, end, value in pairs]
        return [(length - end + 1, length - start, value) for start, end, value in pairs][::-1]


@dataclass(frozen=True)
class Sample:
    """One continuation."""

    number: int  # from 1
    bases: str
    tokens: int
    silent: int  # tokens that stand for no base
    ended: str  # length | end: the model said that it has ended
    log_likelihood: float  # nats, of all its tokens

    @property
    def lines(self) -> list[str]:
        """Its bases as they are printed."""
        return [self.bases[at : at + WRAPPED] for at in range(0, len(self.bases), WRAPPED)]


@dataclass(frozen=True)
class Answer:
    """What became of one sequence."""

    number: int  # from 1, in the order of the question
    name: str
    length: int  # bases
    sequence: str
    there: bool  # the engine has spoken
    failure: str = ""  # reason code
    flags: Sequence[str] = ()
    log_likelihood: float | None = None  # of a score; of both strands their mean
    tokens: int = 0
    strands: Sequence[Strand] = ()
    samples: Sequence[Sample] = ()
    vector: Sequence[float] = ()
    positions: int = 0
    fingerprint: str = ""
    batch_invariant: bool = False
    worker: str = ""

    @property
    def per_base(self) -> float | None:
        """Mean log-likelihood of a base, of both strands their mean."""
        return math.fsum(one.per_base for one in self.strands) / len(self.strands) if self.strands else None

    @property
    def norm(self) -> float | None:
        """Euclidean length of an embedding."""
        return math.sqrt(math.fsum(value * value for value in self.vector)) if self.vector else None


def answers(question: Question, *, first: int = 0, last: int | None = None) -> list[Answer]:
    """Of the sequences at places [first, last), from 0; those of which nothing is there yet are told as such."""
    items = Item.objects.filter(item_set_id=question.run.item_set_id).order_by("ordinal")[first:last]
    wanted = list(items)
    rows = Result.objects.filter(run_id=question.run_id, item_id__in=[item.pk for item in wanted])
    found = {row.item_id: row for row in rows}
    return [_answer(item, found.get(item.pk)) for item in wanted]


def _answer(item: Item, row: Result | None) -> Answer:
    asked = (item.ordinal + 1, item.name, len(item.sequence), item.sequence)
    if row is None:
        return Answer(*asked, there=False)
    body: dict[str, Any] = row.answer or {}
    return Answer(
        *asked, there=True, failure=row.failure, flags=tuple(row.flags), log_likelihood=row.ll_alt, tokens=row.tokens,
        strands=[_strand(one) for one in body.get("strands", ())],
        samples=[_sample(number, one) for number, one in enumerate(body.get("samples", ()), start=1)],
        vector=body.get("vector", ()), positions=body.get("positions", 0), fingerprint=row.fingerprint,
        batch_invariant=row.batch_invariant, worker=row.worker,
    )  # fmt: skip


def _strand(said: dict[str, Any]) -> Strand:
    return Strand(
        said["strand"], said["log_likelihood"], said["per_base"], said["bases"], said["tokens"], said["starts"],
        said["log_probabilities"],
    )  # fmt: skip


def _sample(number: int, said: dict[str, Any]) -> Sample:
    total = math.fsum(said["log_probabilities"])
    return Sample(number, said["bases"], said["tokens"], said["silent"], said["ended"], total)
