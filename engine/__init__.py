"""Helicase's inference engine: continuous batching over a paged KV cache, the same bits whatever the load.

    engine = load(Path("models/ecoli-orf-6l"), config=EngineConfig())
    loop = EngineLoop(engine)
    loop.start()
    loop.submit(Score(tokens), priority=Priority.STAT, on_outcome=print)

Importing this package imports no torch: `load` does, after it has pinned the instruction set.
"""

from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineError, RequestRefused, RequestTooLarge, RowFailed
from engine.fingerprint import Deployment
from engine.loading import load
from engine.loop import EngineLoop
from engine.protocols import Protocol, SequencePlan, SequenceScore, Variant, VariantPlan, VariantScore
from engine.request import Generate, GenerateResult, Outcome, Priority, Sampling, Score, ScoreResult
from engine.tokenizer import CharacterTokenizer
from engine.version import VERSION as __version__
from engine.windows import combine, combine_sequence, plan_sequence, plan_variant, reverse_complement

__all__ = [
    "BlockPool",
    "CharacterTokenizer",
    "Deployment",
    "Engine",
    "EngineConfig",
    "EngineError",
    "EngineLoop",
    "Generate",
    "GenerateResult",
    "Outcome",
    "Priority",
    "Protocol",
    "RequestRefused",
    "RequestTooLarge",
    "RowFailed",
    "Sampling",
    "Score",
    "ScoreResult",
    "SequencePlan",
    "SequenceScore",
    "Variant",
    "VariantPlan",
    "VariantScore",
    "__version__",
    "combine",
    "combine_sequence",
    "load",
    "plan_sequence",
    "plan_variant",
    "reverse_complement",
]
