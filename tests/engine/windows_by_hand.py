"""What a protocol is, computed another way: whole windows written out, each scored alone by the plain engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.batch import Batch, RowOutput
from engine.config import EngineConfig
from engine.limits import Limits
from engine.protocols import Protocol, Variant, VariantPlan, VariantScore
from engine.request import NextToken, NextTokenResult, Request, Result, Score, ScoreResult
from engine.tokenizers.interface import Tokenizer
from engine.windows import combine, plan_variant, reverse_complement
from tests.engine.alphabets import SIZE
from tests.engine.driving import Arrival, drive

LIMITS = Limits(vocabulary=SIZE, context=512)
Run = Callable[[Batch], list[RowOutput]]


class Desk:
    """Answers requests with a random model: together as a worker does, or each alone with every cache off."""

    def __init__(self, run: Run, config: EngineConfig) -> None:
        self._run, self._config = run, config
        self._known: dict[tuple[int, ...], tuple[float, ...]] = {}

    def together(self, requests: Iterable[Request]) -> dict[Request, Result]:
        """The results of some requests in one engine; equal ones are computed once."""
        distinct = list(dict.fromkeys(requests))
        outcomes = drive(self._config, self._run, [Arrival(place, one) for place, one in enumerate(distinct)], LIMITS)
        return {request: self._result(outcomes[place].result) for place, request in enumerate(distinct)}

    def scored(self, plan: VariantPlan) -> VariantScore:
        """The score of a plan."""
        found = self.together(plan.requests)
        return combine(plan, [found[request] for request in plan.requests])  # type: ignore[misc]

    def whole(self, tokenizer: Tokenizer, bases: str) -> tuple[float, ...]:
        """Log P of each token of `bases` that has one, from a score of nothing else."""
        tokens = (*tokenizer.before, *tokenizer.encode(bases).ids)
        if tokens not in self._known:
            result = drive(self._config, self._run, [Arrival(0, Score(tokens))], LIMITS)[0].result
            assert isinstance(result, ScoreResult)
            self._known[tokens] = tuple(result.logprobs)
        return self._known[tokens][max(0, len(tokenizer.before) - 1) :]

    def distribution(self, tokens: Sequence[int]) -> tuple[float, ...]:
        """Log P of every id after these."""
        result = drive(self._config, self._run, [Arrival(0, NextToken(tuple(tokens)))], LIMITS)[0].result
        assert isinstance(result, NextTokenResult)
        return tuple(result.logprobs)

    @staticmethod
    def _result(result: Result | None) -> Result:
        assert result is not None
        return result


def plan(
    tokenizer: Tokenizer, protocol: Protocol, contig: str, variant: tuple[int, str, str], end: int | None = None
) -> VariantPlan:
    """A plan for (position, REF, ALT) on a contig."""
    return plan_variant(protocol, Variant(len(contig), *variant, end), lambda first, last: contig[first:last], tokenizer)


def mutated(contig: str, position: int, ref: str, alt: str) -> str:
    """The contig with the change in it."""
    assert contig[position - 1 : position - 1 + len(ref)] == ref
    return contig[: position - 1] + alt + contig[position - 1 + len(ref) :]


def read(bases: str, *, reverse: bool) -> str:
    """As it stands, or on the other strand."""
    return reverse_complement(bases) if reverse else bases
