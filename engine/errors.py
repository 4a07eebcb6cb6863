"""Everything the engine refuses or reports.

EngineError
├── RequestRefused              this request, and no other, cannot be served
│   ├── RequestTooLarge         needs more blocks than the pool has
│   ├── ContextTooLong          longer than the model was made for
│   ├── InvalidRequest          empty, or with ids outside the vocabulary
│   ├── UnknownSymbol           a character that the tokenizer has no id for
│   ├── ReferenceMismatch       the REF allele is not what the reference holds
│   ├── OutsideContig           a position before the first base of the contig, or behind its last
│   ├── UnknownContig           a contig that the reference does not hold
│   ├── UnsupportedAllele       symbolic, empty or too long for the window
│   │   └── UnequalAlleles      of lengths that the protocol cannot compare
│   └── UnsupportedTokenizer    tokens of unequal width, where the protocol needs them equal
├── RowFailed                   a row of a step failed; the others went on
│   └── NonFinite               … because its numbers were not finite
├── OutOfMemory                 this machine has no memory now for even one token of a request
├── EngineStopped               the engine was stopped before the request ended
├── EngineFailed                the engine loop met an error of its own and serves no more
├── ModelRefused                the folder holds no model this engine can run exactly
├── ConfigRefused               settings that contradict each other or this machine
├── DeploymentMismatch          this machine cannot reproduce the pinned deployment
└── BlockAccounting             blocks and references disagree: a bug of ours
"""

from __future__ import annotations

import inspect
import traceback


class EngineError(Exception):
    """The engine could not do what was asked."""

    code = "engine_error"  # stable, for storage and for other languages than English
    permanent = False  # whether the same request would fail again

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.getdoc(type(self)))


class RequestRefused(EngineError):
    """The request cannot be served."""

    code = "request_refused"
    permanent = True


class RequestTooLarge(RequestRefused):
    """The request needs more blocks than the pool has."""

    code = "request_too_large"

    def __init__(self, *, blocks_needed: int, blocks_total: int) -> None:
        self.blocks_needed, self.blocks_total = blocks_needed, blocks_total
        super().__init__(f"the request needs {blocks_needed} blocks and the pool has {blocks_total}")


class ContextTooLong(RequestRefused):
    """The request is longer than the context of the model."""

    code = "context_too_long"

    def __init__(self, *, positions: int, context: int) -> None:
        self.positions, self.context = positions, context
        super().__init__(f"the request needs {positions} positions and the model has {context}; score it in windows")


class InvalidRequest(RequestRefused):
    """The request is empty or holds ids outside the vocabulary."""

    code = "invalid_request"


class UnknownSymbol(RequestRefused):
    """The sequence holds a character that the tokenizer has no id for."""

    code = "unknown_symbol"


class ReferenceMismatch(RequestRefused):
    """The REF allele differs from the reference sequence."""

    code = "reference_mismatch"


class OutsideContig(RequestRefused):
    """The position lies outside the contig."""

    code = "outside_contig"


class UnknownContig(RequestRefused):
    """The reference holds no contig of this name."""

    code = "unknown_contig"


class UnsupportedAllele(RequestRefused):
    """The allele is empty, symbolic or too long for the window."""

    code = "unsupported_allele"


class UnequalAlleles(UnsupportedAllele):
    """The alleles have unequal lengths, and this protocol compares equal ones only."""

    code = "unequal_alleles"


class UnsupportedTokenizer(RequestRefused):
    """The model's tokens are of unequal width, and this protocol needs them equal."""

    code = "unsupported_tokenizer"


class RowFailed(EngineError):
    """Computing this request raised an error; no other request was touched."""

    code = "row_failed"
    permanent = True


class NonFinite(RowFailed):
    """The model gave numbers that are not finite for this request."""

    code = "non_finite"


class OutOfMemory(EngineError):
    """There was no memory for even one token of this request; it may be computed later, or on another machine."""

    code = "out_of_memory"


class EngineStopped(EngineError):
    """The engine was stopped before the request ended."""

    code = "engine_stopped"


class EngineFailed(EngineError):
    """The engine met an error of its own and serves no more requests."""

    code = "engine_failed"


class ModelRefused(EngineError):
    """The folder holds no model that this engine can run exactly."""

    code = "model_refused"
    permanent = True


class ConfigRefused(EngineError):
    """The settings contradict each other or this machine."""

    code = "config_refused"
    permanent = True


class DeploymentMismatch(EngineError):
    """This machine cannot reproduce the pinned deployment."""

    code = "deployment_mismatch"
    permanent = True


class BlockAccounting(EngineError):
    """Blocks and references disagree."""

    code = "block_accounting"
    permanent = True


def described(error: BaseException) -> str:
    """Kind and words of an error, whatever its own words do."""
    return traceback.format_exception_only(error)[-1].strip()
