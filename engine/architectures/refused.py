"""Families that are known and not served, each with its reason in a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.errors import ModelRefused

_ONE_DIRECTION = "this engine scores from left to right, and there is no probability of a base given those before it alone"
_TWO_SIDED = f"it is trained to fill in masked tokens from both sides: {_ONE_DIRECTION}"
_NO_KEYS = (
    "what it remembers of a sequence is a state that every token changes, not keys and values of positions that blocks can hold"
)

# Looked for in `architectures` and `model_type`, in small letters; the first that is found speaks.
_REASONS = (
    (r"striped_?hyena|^evo", f"StripedHyena and Evo mix long convolutions with attention: {_NO_KEYS}"),
    (r"hyena", f"Hyena computes long convolutions and no attention: {_NO_KEYS}"),
    (r"caduceus", f"Caduceus runs state-space layers over both strands and is trained with masks: {_ONE_DIRECTION}"),
    (r"mamba|ssm|rwkv|griffin|jamba|recurrent|retnet|lfm|bamba", f"it runs recurrent or state-space layers: {_NO_KEYS}"),
    (r"moe|mixtral|experts", "each token goes through a few of many experts, and the kernels here compute one dense layer for all"),
    (r"maskedlm|bert|^esm|nucleotide_?transformer|genomic_?lm|gpn", _TWO_SIDED),
    (r"enformer|borzoi|alphagenome", "it predicts measurements along a sequence, and no next token"),
    (
        r"qwen2_?(5|vl|audio|_5)|qwen3_?(next|5|vl|omni)|mistral3|ministral|llama4|vision|mllama",
        "it is another model than the Llama, Mistral or Qwen whose name it bears",
    ),
    (r"t5|bart|conditionalgeneration|encoder_?decoder|seq2seq", f"it is an encoder with a decoder: {_ONE_DIRECTION}"),
    (r"classification|questionanswering|rewardmodel|embedding", "it ends in a head for another question than the next token"),
    (
        r"gemma|olmo|phi|cohere|glm|granite|deepseek|falcon|gpt|bloom|opt|mpt",
        "its block differs from the one computed here, in norms, biases, positions or activation",
    ),
)


def refuse_the_known(names: Sequence[str]) -> None:
    """Raise ModelRefused with the reason where one of these architectures or model types is known and not served."""
    for pattern, reason in _REASONS:
        for name in names:
            if re.search(pattern, name.lower()):
                raise ModelRefused(f"{name[:80]} is not served: {reason}")
