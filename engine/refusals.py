"""What can never be served, said before it waits: one request is refused alone, with what it would need."""

from __future__ import annotations

import math

from engine.dues import is_due
from engine.errors import ContextTooLong, InvalidRequest, RequestTooLarge
from engine.ledger import Ledger
from engine.limits import Limits
from engine.request import COLDEST, Choice, Embed, Generate, NextToken, Sampling, Score, ids_of
from engine.sequence import Sequence


def refuse_unservable(sequence: Sequence, limits: Limits, ledger: Ledger) -> None:
    """Raise the RequestRefused that tells why a request can never be served here."""
    request = sequence.request
    if isinstance(request, Score):
        _refuse_score(request, limits)
    elif isinstance(request, Generate):
        _refuse_generation(request)
    elif isinstance(request, Embed) and request.pooling not in ("mean", "last"):
        raise InvalidRequest(f"pooling is mean or last, not {request.pooling!r}")
    elif isinstance(request, NextToken):
        _refuse_choices("wanted ids", request.wanted, limits)
    if not sequence.tokens:
        raise InvalidRequest("a request needs at least one token")
    if not isinstance(request, Score):
        _refuse_ids("token ids", sequence.tokens, limits)
    if sequence.sharing.kind not in ("private", "reference", "laboratory"):
        raise InvalidRequest(f"sharing is private, reference or laboratory, not {sequence.sharing.kind!r}")
    if (sequence.sharing.kind == "laboratory") is not bool(sequence.sharing.salt):
        raise InvalidRequest("what laboratories share stands under a salt each, and nothing else does")
    if not isinstance(sequence.sharing.salt, str) or not sequence.sharing.salt.isprintable():
        raise InvalidRequest("a salt is printable text")
    if not is_due(sequence.due):
        raise InvalidRequest(f"a due time is a number of seconds, not {sequence.due!r}")
    if sequence.need > limits.context:
        raise ContextTooLong(positions=sequence.need, context=limits.context)
    if ledger.most(sequence.need) > ledger.pool.total:
        raise RequestTooLarge(blocks_needed=ledger.most(sequence.need), blocks_total=ledger.pool.total)


def _refuse_score(request: Score, limits: Limits) -> None:
    branch = request.branch
    if len(request.tokens) < 2 and branch is None:
        raise InvalidRequest("a score needs at least two tokens")
    if branch is not None and not (1 <= branch.at < len(request.tokens) and branch.tokens):
        raise InvalidRequest(f"a branch begins inside its window and brings tokens, not at {branch.at} of {len(request.tokens)}")
    _refuse_ids("token ids", request.tokens, limits)
    if branch is not None:
        _refuse_ids("token ids of the branch", branch.tokens, limits)
    if request.alternatives:
        _refuse_choices("alternatives", request.alternatives, limits)
        if branch is not None:
            raise InvalidRequest("alternatives are weighed along a window, not along a branch of it")
        if not isinstance(request.alternatives_from, int) or not 1 <= request.alternatives_from < len(request.tokens):
            raise InvalidRequest(f"alternatives are weighed from a token after the first on, not from {request.alternatives_from}")


def _refuse_generation(request: Generate) -> None:
    if not isinstance(request.limit, int) or request.limit < 1:
        raise InvalidRequest(f"limit must be at least 1 and whole, not {request.limit}")
    sampling: Sampling = request.sampling
    if sampling.temperature != 0 and not COLDEST <= sampling.temperature < math.inf:  # also refuses NaN
        raise InvalidRequest(f"temperature must be 0 or a finite number from {COLDEST} on, not {sampling.temperature}")
    if sampling.top_k < 0:
        raise InvalidRequest(f"top_k must be at least 0, not {sampling.top_k}")


def _refuse_choices(what: str, choices: tuple[Choice, ...], limits: Limits) -> None:
    for choice in choices:
        if isinstance(choice, tuple) and not 0 < len(choice) == len(set(choice)):
            raise InvalidRequest(f"{what} that count together must be at least one and differ, not {choice[:3]}")
    _refuse_ids(what, tuple(ids_of(choices)), limits)


def _refuse_ids(what: str, ids: tuple[int, ...] | list[int], limits: Limits) -> None:
    if not ids:
        return
    whole = all(issubclass(kind, int) for kind in set(map(type, ids)))
    if not whole or not 0 <= min(different := set(ids)) <= max(different) < limits.vocabulary:
        raise InvalidRequest(f"{what} must be between 0 and {limits.vocabulary - 1}")
