"""Helicase's inference engine: continuous batching over a paged KV cache, the same bits whatever the load.

    engine = load(Path("models/ecoli-orf-2k"), config=EngineConfig())
    loop = EngineLoop(engine)
    loop.start()
    loop.submit(Score(tokens), priority=Priority.STAT, on_outcome=print)

Importing this package imports no torch: `load` does, after it has pinned the instruction set.
"""

from engine.blocks import BlockPool
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineError, RequestRefused, RequestTooLarge, RowFailed, UnknownContig
from engine.fingerprint import Deployment
from engine.loading import load
from engine.loop import EngineLoop
from engine.observed import Whereabouts
from engine.protocols import Protocol, RegionPlan, SequencePlan, SequenceScore, SiteScore, Variant, VariantPlan, VariantScore
from engine.questions import Answer, QuestionPlan, combine_question, plan_question
from engine.request import (
    Embed,
    EmbedResult,
    Generate,
    GenerateResult,
    Interruption,
    NextToken,
    NextTokenResult,
    Outcome,
    Priority,
    Request,
    Result,
    Sampling,
    Score,
    ScoreResult,
    Sharing,
)
from engine.scan import combine_region, plan_region
from engine.smoke import score as smoke_score
from engine.tokenizers.interface import Tokenizer
from engine.trace import Trace
from engine.tracks import spell
from engine.turns import Turns
from engine.version import VERSION as __version__
from engine.windows import combine, combine_sequence, plan_sequence, plan_variant, reverse_complement

__all__ = [
    "Answer",
    "BlockPool",
    "Deployment",
    "Embed",
    "EmbedResult",
    "Engine",
    "EngineConfig",
    "EngineError",
    "EngineLoop",
    "Generate",
    "GenerateResult",
    "Interruption",
    "NextToken",
    "NextTokenResult",
    "Outcome",
    "Priority",
    "Protocol",
    "QuestionPlan",
    "RegionPlan",
    "Request",
    "RequestRefused",
    "RequestTooLarge",
    "Result",
    "RowFailed",
    "Sampling",
    "Score",
    "ScoreResult",
    "SequencePlan",
    "SequenceScore",
    "Sharing",
    "SiteScore",
    "Tokenizer",
    "Trace",
    "Turns",
    "UnknownContig",
    "Variant",
    "VariantPlan",
    "VariantScore",
    "Whereabouts",
    "__version__",
    "combine",
    "combine_question",
    "combine_region",
    "combine_sequence",
    "load",
    "plan_question",
    "plan_region",
    "plan_sequence",
    "plan_variant",
    "reverse_complement",
    "smoke_score",
    "spell",
]
