"""transformers as most people call it: padded batches through `generate`, and one forward pass per padded batch for scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers
from serving import Job, Ready, Refused, Work, batches, in_order, serve, tuned

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
ROWS = 16  # of a batch that generates
PADDED_TOKENS = 4096  # of a batch that is scored


def load(job: Job) -> Any:
    """The model with scaled-dot-product attention."""
    if job.precision not in TYPES:
        raise Refused(f"transformers has no {job.precision} of its own on a CPU")
    torch.set_num_threads(job.threads)
    transformers.utils.logging.set_verbosity_error()
    model = transformers.AutoModelForCausalLM.from_pretrained(job.model, dtype=TYPES[job.precision], attn_implementation="sdpa")
    return model.eval()


def padded(rows: list[list[int]], *, left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask [B, T] of rows of differing length; the pad id is 0."""
    width = max(map(len, rows))
    ids, mask = torch.zeros(len(rows), width, dtype=torch.long), torch.zeros(len(rows), width, dtype=torch.long)
    for number, row in enumerate(rows):
        place = slice(width - len(row), width) if left else slice(0, len(row))
        ids[number, place], mask[number, place] = torch.tensor(row), 1
    return ids, mask


def generated(model: Any, work: list[Work], rows: int) -> Iterator[tuple[int, list[int]]]:
    """Batches of similar output length, each computed until its longest ends: the order that costs a static batch least."""
    order = sorted(range(len(work)), key=lambda place: work[place].limit)
    for start in range(0, len(order), rows):
        places = order[start : start + rows]
        ids, mask = padded([work[place].tokens for place in places], left=True)
        limit = max(work[place].limit for place in places)
        found = model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=limit,
            min_new_tokens=limit,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
        for row, place in enumerate(places):
            yield place, found[row, ids.shape[1] : ids.shape[1] + work[place].limit].tolist()


def scored(model: Any, job: Job, budget: int) -> Iterator[tuple[int, Any]]:
    """Padded at the end, where a causal model does not look."""
    for places in batches([len(piece.tokens) for piece in job.work], budget):
        rows = [job.work[place].tokens for place in places]
        ids, _ = padded(rows, left=False)
        logprobs = torch.log_softmax(model(ids, use_cache=False).logits.float(), -1)
        own = logprobs[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
        for number, place in enumerate(places):
            length = len(rows[number])
            if job.kind == "alternatives":
                yield place, logprobs[number, job.first - 1 : length - 1][:, job.ids].flatten().tolist()
            else:
                yield place, own[number, : length - 1].sum(dtype=torch.float64).item()


def prepare(job: Job) -> Ready:
    """Load, and run once."""
    model = load(job)
    rows, budget = min(tuned("rows", ROWS), job.slots), tuned("padded_tokens", PADDED_TOKENS)
    settings = {"attention": "sdpa", "rows": rows} if job.kind == "generate" else {"attention": "sdpa", "padded_tokens": budget}

    @torch.inference_mode()
    def work_once() -> list[Any]:
        found = generated(model, job.work, rows) if job.kind == "generate" else scored(model, job, budget)
        return in_order(len(job.work), found)

    with torch.inference_mode():
        list(generated(model, [Work([4, 5, 6, 7] * 8, 4)] * 2, rows))
    return Ready(transformers.__version__, settings, work_once)


if __name__ == "__main__":
    serve(prepare)
