"""llama.cpp: generation by its server with slots, over HTTP; scoring by the library underneath, the server has no call for it."""

from __future__ import annotations

import atexit
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from llama_gguf import TYPES, convert
from serving import Job, Ready, Refused, Work, in_order, packed, serve, tuned

ROOT = Path(sys.prefix)
BATCH, PART = 2048, 512  # tokens of a logical batch, and of the parts it is computed in
PACKED = 1024  # tokens of a batch when scoring
KEYS = {"fp32": "f32", "bf16": "f16", "int8": "f16"}  # type of keys and values
START = 600.0  # seconds


def converted(job: Job) -> Path:
    """The model file, made once."""
    place = job.cache / f"{job.model.name}-{job.precision}.gguf"
    if not place.exists():
        unfinished = place.with_suffix(".part")
        convert(job.model, unfinished, job.precision)
        unfinished.rename(place)
    return place


class Server:
    """llama-server on a free port of this machine."""

    def __init__(self, job: Job, model: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        positions = max(len(piece.tokens) + piece.limit for piece in job.work) + 8
        threads, keys = str(job.threads), os.environ.get("PEER_KV", KEYS[job.precision])
        self.settings = {
            "-ub": tuned("part", PART),
            "-b": tuned("batch", BATCH),
            "-ctk": keys,
            "-fa": "on" if tuned("flash", 1) else "off",
        }
        shape = ("-np", str(job.slots), "-c", str(job.slots * positions), "--kv-unified", "-t", threads, "-tb", threads)
        plain = ("--no-ui", "--no-slots", "--cache-ram", "0", "--ctx-checkpoints", "0", "--log-disable")
        tuning = [str(word) for pair in {**self.settings, "-ctv": keys}.items() for word in pair]
        command = [ROOT / "build" / "bin" / "llama-server", "-m", model, "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen([*command, *shape, *plain, *tuning], stdout=sys.stderr)
        atexit.register(self._process.kill)
        self._wait()

    def generate(self, work: list[Work]) -> list[list[int]]:
        """All requests at once, a connection each."""
        with ThreadPoolExecutor(len(work)) as callers:
            return list(callers.map(self._generate, work))

    def _generate(self, piece: Work) -> list[int]:
        asked = {
            "prompt": piece.tokens,
            "n_predict": piece.limit,
            "temperature": 0,
            "samplers": ["top_k"],
            "top_k": 1,
            "ignore_eos": True,
            "cache_prompt": False,
            "return_tokens": True,
        }
        found: list[int] = json.loads(self._ask("POST", "/completion", asked))["tokens"]
        return found

    def _ask(self, verb: str, path: str, said: Any = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(verb, path, json.dumps(said) if said else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            words = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"llama-server answered {answer.status}: {words[:200]!r}")
        return words

    def _wait(self) -> None:
        deadline = time.monotonic() + START
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"llama-server ended with {self._process.returncode}")
            try:
                self._ask("GET", "/health")
                return
            except (OSError, RuntimeError):
                time.sleep(0.2)
        raise RuntimeError("llama-server did not start")


def scored(job: Job, library: Any) -> Iterator[tuple[int, Any]]:
    """Packs of short sequences side by side, long ones in chunks."""
    lengths = [len(piece.tokens) for piece in job.work]
    for places in packed(lengths, tuned("packed", PACKED), library.sequences):
        found = library.logprobs([job.work[place].tokens for place in places])
        for logprobs, place in zip(found, places, strict=True):
            tokens = job.work[place].tokens
            if job.kind == "alternatives":
                yield place, logprobs[job.first - 1 : -1][:, job.ids].ravel().tolist()
            else:
                yield place, float(logprobs[range(len(tokens) - 1), tokens[1:]].sum(dtype="float64"))


def prepare(job: Job) -> Ready:
    """Convert, start, warm up."""
    if job.precision not in TYPES:
        raise Refused(f"no precision {job.precision}")
    model = converted(job)
    if job.kind == "generate":
        server = Server(job, model)
        server.generate([Work([4, 5, 6, 7] * 8, 4)] * 2)
        return Ready(version(), server.settings, lambda: server.generate(job.work))
    from llama_library import Library

    keys = os.environ.get("PEER_KV", KEYS[job.precision])
    flash = bool(tuned("flash", int(job.precision != "fp32")))  # the fused one computes in half precision, which sums show
    library = Library(ROOT, job, model, keys=keys, part=tuned("part", PART), flash=flash)
    library.logprobs([[4, 5, 6, 7] * 8])
    return Ready(
        version(), library.settings | {"packed": tuned("packed", PACKED)}, lambda: in_order(len(job.work), scored(job, library))
    )


def version() -> str:
    """The release of the binding whose sources were compiled."""
    return (ROOT / "version").read_text().strip()


if __name__ == "__main__":
    serve(prepare)
