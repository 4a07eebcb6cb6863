"""transformers' own continuous batching over a paged cache; generation only."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from serving import Job, Ready, Refused, Work, serve, tuned
from transformers_adapter import load

PAGE = 256  # tokens
BATCHED_TOKENS = 2048  # of one step
WAIT = 1.0  # seconds of one look for results


def generate(manager: Any, work: list[Work], first: int) -> list[list[int]]:
    """All at once; the names of requests are numbers from `first` on, since a manager wants each only once."""
    for number, piece in enumerate(work, first):
        manager.add_request(piece.tokens, request_id=str(number), max_new_tokens=piece.limit, eos_token_id=-1)
    found: dict[int, list[int]] = {}
    while len(found) < len(work):
        result = manager.get_result(timeout=WAIT)
        if result is None:
            if not manager.is_running():
                raise RuntimeError("the manager of continuous batching has stopped")
        elif result.is_finished():
            found[int(result.request_id)] = list(result.generated_tokens)
    return [found[first + number] for number in range(len(work))]


def prepare(job: Job) -> Ready:
    """A manager that stays from round to round."""
    if job.kind != "generate":
        raise Refused("continuous batching in transformers returns generated tokens only; the padded adapter scores")
    model = load(job)
    page = tuned("page", PAGE)
    positions = max(len(piece.tokens) + piece.limit for piece in job.work)
    settings = {
        "page_size": page,
        "num_blocks": tuned("blocks", job.slots * -(-positions // page)),
        "max_batch_tokens": tuned("batched_tokens", BATCHED_TOKENS),
        "max_requests_per_batch": job.slots,
        "allow_block_sharing": False,
    }
    manager = model.init_continuous_batching(
        generation_config=transformers.GenerationConfig(
            do_sample=False, eos_token_id=-1, pad_token_id=0, bos_token_id=1, max_new_tokens=256
        ),
        continuous_batching_config=transformers.ContinuousBatchingConfig(**settings),
    )
    manager.start()
    made = 0

    def work_once(work: list[Work]) -> list[Any]:
        nonlocal made
        made += len(work)
        return generate(manager, work, made - len(work))

    with torch.inference_mode():
        work_once([Work([4, 5, 6, 7] * 8, 4)] * 2)
    return Ready(transformers.__version__, settings, lambda: work_once(job.work))


if __name__ == "__main__":
    serve(prepare)
