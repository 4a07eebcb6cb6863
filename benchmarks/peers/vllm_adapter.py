"""vLLM's CPU build, used offline through its `LLM` class: the engine runs in processes of its own, as when served.

Ids are computed in their own order; scores are the log-probabilities of the prompt, for which vLLM generates one id more.
"""

from __future__ import annotations

import os
from typing import Any

from serving import Job, Ready, Refused, Work, serve, tuned

TYPES = {"fp32": "float32", "bf16": "bfloat16"}
BATCHED_TOKENS = 2048  # of one step
CACHE_GB = 3  # for keys and values
BLOCK = 128  # tokens, what vLLM chooses itself on a CPU


def environment(job: Job) -> None:
    """What vLLM reads from the environment, before it is imported. No word leaves the machine."""
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "WARNING"}
    cache = {"VLLM_CACHE_ROOT": str(job.cache / "vllm"), "TORCHINDUCTOR_CACHE_DIR": str(job.cache / "vllm" / "inductor")}
    threads = {"VLLM_CPU_OMP_THREADS_BIND": f"0-{job.threads - 1}"}
    for name, value in {**quiet, **cache, **threads}.items():
        os.environ.setdefault(name, value)


def load(job: Job) -> Any:
    """The engine; compiled on the first start, read from `job.cache` afterwards."""
    import vllm

    return vllm.LLM(
        model=str(job.model),
        dtype=TYPES[job.precision],
        max_num_seqs=job.slots,
        max_model_len=job.context + 8,
        max_num_batched_tokens=tuned("batched_tokens", BATCHED_TOKENS),
        block_size=tuned("block", BLOCK),
        kv_cache_memory_bytes=tuned("cache_gb", CACHE_GB) << 30,
        enable_prefix_caching=False,
        enforce_eager=bool(tuned("eager", 0)),
        skip_tokenizer_init=True,
        disable_log_stats=True,
    )


def generate(llm: Any, work: list[Work]) -> list[list[int]]:
    """Greedy ids."""
    from vllm import SamplingParams

    limits = [SamplingParams(temperature=0, max_tokens=piece.limit, ignore_eos=True, detokenize=False) for piece in work]
    found = llm.generate([{"prompt_token_ids": piece.tokens} for piece in work], limits, use_tqdm=False)
    return [list(result.outputs[0].token_ids) for result in found]


def score(llm: Any, job: Job) -> list[Any]:
    """Log-probabilities of the prompts: of the ids that stand there, or of the whole vocabulary where alternatives are wanted."""
    from vllm import SamplingParams

    wanted = -1 if job.kind == "alternatives" else 0
    asked = SamplingParams(temperature=0, max_tokens=1, prompt_logprobs=wanted, ignore_eos=True, detokenize=False)
    found = llm.generate([{"prompt_token_ids": piece.tokens} for piece in job.work], asked, use_tqdm=False)
    if job.kind == "alternatives":
        return [[place[one].logprob for place in result.prompt_logprobs[job.first :] for one in job.ids] for result in found]
    return [
        sum(place[own].logprob for place, own in zip(result.prompt_logprobs[1:], piece.tokens[1:], strict=True))
        for result, piece in zip(found, job.work, strict=True)
    ]


def prepare(job: Job) -> Ready:
    """Start the engine and let it compile."""
    if job.precision not in TYPES:
        raise Refused("vLLM needs a checkpoint that somebody has already quantized to 8 bits")
    environment(job)
    import vllm

    llm = load(job)
    generate(llm, [Work([4, 5, 6, 7] * 8, 4)] * 4)
    settings = {"max_num_batched_tokens": tuned("batched_tokens", BATCHED_TOKENS), "block_size": tuned("block", BLOCK)}
    settings |= {"preload": [part.rpartition("/")[2] for part in os.environ.get("LD_PRELOAD", "").split(":") if part]}
    return Ready(vllm.__version__, settings, lambda: generate(llm, job.work) if job.kind == "generate" else score(llm, job))


if __name__ == "__main__":
    serve(prepare)
