"""OpenVINO: generation and scoring by GenAI's continuous batching over paged attention.

Its `echo` gives the log-probabilities of a prompt, faster than the plain model does, which remains for whole distributions.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino_genai as genai
from serving import Job, Ready, Refused, Work, batches, in_order, serve, tuned

INFERENCE = {"fp32": "f32", "bf16": "bf16", "int8": "bf16"}  # int8: weights; OpenVINO quantizes activations on the fly
KEYS = {"fp32": "f32", "bf16": "bf16", "int8": "u8"}  # and values
CACHE_GB = 3  # for them
BATCHED_TOKENS = {"generate": 1024, "score": 2048}  # of one step of continuous batching
PADDED_TOKENS = 4096  # of one call of the plain model


def converted(job: Job) -> Path:
    """The model in OpenVINO's format, made once: float32 weights, or 8 bits a weight."""
    weights = "int8" if job.precision == "int8" else "fp32"
    place = job.cache / f"{job.model.name}-openvino-{weights}"
    if not (place / "converted").exists():
        from optimum.intel import OVModelForCausalLM

        model = OVModelForCausalLM.from_pretrained(job.model, export=True, compile=False, load_in_8bit=weights == "int8")
        model.save_pretrained(place)
        (place / "converted").touch()
    return place


class Pipeline:
    """GenAI's ContinuousBatchingPipeline. It works without a tokenizer as long as ids go in and nothing is shown as text."""

    def __init__(self, job: Job, place: Path) -> None:
        scheduling = genai.SchedulerConfig()
        scheduling.cache_size = tuned("cache_gb", CACHE_GB)
        scheduling.max_num_seqs = job.slots
        scheduling.max_num_batched_tokens = tuned("batched_tokens", BATCHED_TOKENS[job.kind])
        scheduling.dynamic_split_fuse = True
        scheduling.enable_prefix_caching = False
        properties = _properties(job)
        self._pipeline = genai.ContinuousBatchingPipeline(place, scheduling, "CPU", properties)
        self.settings = {
            **properties,
            "max_num_batched_tokens": scheduling.max_num_batched_tokens,
            "cache_gb": scheduling.cache_size,
        }

    def generate(self, work: Sequence[Work]) -> list[list[int]]:
        """Greedy ids."""
        results = self._pipeline.generate([_tensor(piece.tokens) for piece in work], [_config(piece.limit) for piece in work])
        return [list(result.m_generation_ids[0]) for result in results]

    def score(self, work: Sequence[Work]) -> list[float]:
        """Log-likelihoods of the prompts, which `echo` gives beside the one id that has to be generated."""
        handles = []
        for number, piece in enumerate(work):
            handles.append(self._pipeline.add_request(number, _tensor(piece.tokens), _config(1, echo=True)))
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()
        found = [handle.read_all()[0].generated_log_probs for handle in handles]
        return [math.fsum(logprobs[1 : len(piece.tokens)]) for logprobs, piece in zip(found, work, strict=True)]


def _tensor(tokens: list[int]) -> Any:
    return ov.Tensor(np.array([tokens], dtype=np.int64))


def _config(limit: int, *, echo: bool = False) -> Any:
    found = genai.GenerationConfig()
    found.max_new_tokens = limit  # a least number besides would forbid the id of the end, which is an id like others here
    found.ignore_eos, found.do_sample, found.eos_token_id = True, False, 2
    found.echo, found.logprobs = echo, int(echo)
    return found


def continuous(job: Job, place: Path) -> Ready:
    """Generation and scoring through the pipeline."""
    pipeline = Pipeline(job, place)
    pipeline.generate([Work([4, 5, 6, 7] * 8, 4)] * 4)
    if job.kind == "generate":
        return Ready(_version(), pipeline.settings, lambda: pipeline.generate(job.work))
    return Ready(_version(), pipeline.settings, lambda: pipeline.score(job.work))


def distributions(job: Job, place: Path) -> Ready:
    """The stateful model, reset for each padded batch."""
    properties = _properties(job)
    compiled = ov.Core().compile_model(place / "openvino_model.xml", "CPU", properties)
    request = compiled.create_infer_request()
    names = [entry.get_any_name() for entry in compiled.inputs]
    budget = tuned("padded_tokens", PADDED_TOKENS)

    def logprobs(ids: Any) -> Any:
        """float32 log-probabilities [B, T, V] of padded ids [B, T]; causal, so padding at the end changes nothing."""
        rows, width = ids.shape
        request.reset_state()
        fed = {
            "input_ids": ids,
            "attention_mask": np.ones((rows, width), np.int64),
            "position_ids": np.tile(np.arange(width), (rows, 1)),
            "beam_idx": np.arange(rows, dtype=np.int32),
        }
        logits = request.infer({name: fed[name] for name in names}, share_inputs=True, share_outputs=True)["logits"]
        shifted = logits - logits.max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))

    def answers() -> Iterator[tuple[int, Any]]:
        for places in batches([len(piece.tokens) for piece in job.work], budget):
            width = len(job.work[places[0]].tokens)
            ids = np.array([job.work[place].tokens + [0] * (width - len(job.work[place].tokens)) for place in places], np.int64)
            found = logprobs(ids)
            for row, place in enumerate(places):
                last = len(job.work[place].tokens) - 1
                yield place, found[row, job.first - 1 : last][:, job.ids].ravel().tolist()

    logprobs(np.full((1, 64), 4, np.int64))
    return Ready(_version(), {**properties, "padded_tokens": budget}, lambda: in_order(len(job.work), answers()))


def _properties(job: Job) -> dict[str, Any]:
    tried = json.loads(os.environ.get("PEER_PROPERTIES", "{}"))
    keys = {"KV_CACHE_PRECISION": KEYS[job.precision]} if job.kind in BATCHED_TOKENS else {}
    return {"INFERENCE_PRECISION_HINT": INFERENCE[job.precision], "INFERENCE_NUM_THREADS": job.threads, **keys, **tried}


def _version() -> str:
    return str(ov.__version__).split("-")[0]


def prepare(job: Job) -> Ready:
    """Continuous batching, or the plain model where all of a distribution is asked for."""
    if job.precision not in INFERENCE:
        raise Refused(f"no precision {job.precision}")
    place = converted(job)
    return continuous(job, place) if job.kind in BATCHED_TOKENS else distributions(job, place)


if __name__ == "__main__":
    serve(prepare)
