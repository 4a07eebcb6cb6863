"""What can never be served, said before it waits: one request is refused alone, with what it would need."""

from __future__ import annotations

import math

from engine.errors import ContextTooLong, InvalidRequest, RequestTooLarge
from engine.ledger import Ledger
from engine.limits import Limits
from engine.request import COLDEST, Embed, Generate, NextToken, Sampling, Score
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
        _refuse_ids("wanted ids", request.wanted, limits)
    if not sequence.tokens:
        raise InvalidRequest("a request needs at least one token")
    _refuse_ids("token ids", sequence.tokens, limits)
    if sequence.sharing.kind not in ("private", "reference", "laboratory"):
        raise InvalidRequest(f"sharing is private, reference or laboratory, not {sequence.sharing.kind!r}")
    if sequence.need > limits.context:
        raise ContextTooLong(positions=sequence.need, context=limits.context)
    if ledger.most(sequence.need) > ledger.pool.total:
        raise RequestTooLarge(blocks_needed=ledger.most(sequence.need), blocks_total=ledger.pool.total)


def _refuse_score(request: Score, limits: Limits) -> None:
    if len(request.scored) < 2:
        raise InvalidRequest("a score needs at least two tokens")
    branch = request.branch
    if branch is not None and not (1 <= branch.at < len(request.tokens) and branch.tokens):
        raise InvalidRequest(f"a branch begins inside its window and brings tokens, not at {branch.at} of {len(request.tokens)}")
    if branch is not None:
        _refuse_ids("token ids of the window", request.tokens, limits)
    if request.alternatives:
        _refuse_ids("alternatives", request.alternatives, limits)
        if branch is not None:
            raise InvalidRequest("alternatives are weighed along a window, not along a branch of it")
        if not 1 <= request.alternatives_from < len(request.tokens):
            raise InvalidRequest(f"alternatives are weighed from a token after the first on, not from {request.alternatives_from}")


def _refuse_generation(request: Generate) -> None:
    if request.limit < 1:
        raise InvalidRequest(f"limit must be at least 1, not {request.limit}")
    sampling: Sampling = request.sampling
    if sampling.temperature != 0 and not COLDEST <= sampling.temperature < math.inf:  # also refuses NaN
        raise InvalidRequest(f"temperature must be 0 or a finite number from {COLDEST} on, not {sampling.temperature}")
    if sampling.top_k < 0:
        raise InvalidRequest(f"top_k must be at least 0, not {sampling.top_k}")


def _refuse_ids(what: str, ids: tuple[int, ...] | list[int], limits: Limits) -> None:
    if not ids:
        return
    if not all(isinstance(token, int) for token in ids) or min(ids) < 0 or max(ids) >= limits.vocabulary:
        raise InvalidRequest(f"{what} must be between 0 and {limits.vocabulary - 1}")
