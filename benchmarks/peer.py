"""Peers: other engines, each in an environment and a process of its own, that answer the same work in alternation with ours.

How an adapter (`benchmarks/peers/NAME_adapter.py`) and the harness speak. The harness starts, in the repository's folder,

    .run/benchmarks/peers/NAME/bin/python benchmarks/peers/NAME_adapter.py JOB.json

JOB.json holds the fields of `Job`. The adapter may import only the standard library, its own environment and its neighbours in
`benchmarks/peers/`. It writes one JSON object a line to its standard output and nothing else there (whatever its libraries print
belongs on standard error):

    {"ready": true, "version": "2026.4.0", "settings": {"kv": "bf16"}}   once model, conversion and warm-up are behind it
    {"refused": "no bf16 on this processor"}                             instead, when it cannot serve the job

For every line `round` on its standard input it then does all the work of the job once and answers

    {"seconds": 3.21, "answers": [...]}

where `seconds` is the wall time from the first id handed over to the last answer held, and `answers` has one entry per piece of
work in the job's order: for `generate` the list of new ids, for `score` the summed log-likelihood in nats of every token but the
first, for `alternatives` the flat list of log P(id | all before the token) for each id of `ids` in the place of each token from
`first` on. No cache of a former round may serve the next, and between rounds the process keeps no core busy. It ends when its
standard input does. Whoever has not answered in five times our time is stopped, and reported as `>5`.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".run" / "benchmarks"
START_SECONDS = 600.0  # conversion of a model, compilation and warm-up

Kind = Literal["generate", "score", "alternatives"]
Precision = Literal["fp32", "bf16", "int8"]


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work. `limit` new ids are wanted after the tokens (greedy, end id ignored) where the kind is `generate`."""

    tokens: tuple[int, ...]
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """All that an adapter is told."""

    kind: Kind
    model: str  # folder in the Hugging Face layout: config.json, model.safetensors (float32), vocab.json; absolute
    cache: str  # folder for what the adapter makes of the model, kept from call to call; absolute, and there
    work: tuple[Work, ...]
    precision: Precision = "fp32"
    threads: int = 2
    slots: int = 32  # sequences at most at once
    context: int = 4096  # positions the longest piece of work can occupy
    first: int = 1  # alternatives: from this token on …
    ids: tuple[int, ...] = ()  # … each of these ids


@dataclass(frozen=True, slots=True)
class Peer:
    """An adapter as the harness knows it. `benchmarks/peers/__init__.py` lists them as `PEERS: tuple[Peer, ...]`.

    `python -m benchmarks.peers [NAME …]` (`make bench-peers`) makes the environments from `benchmarks/peers/NAME.txt`.
    """

    name: str
    kinds: frozenset[Kind]
    precisions: frozenset[Precision] = frozenset({"fp32", "bf16"})
    environment: Mapping[str, str] = field(default_factory=dict)  # `{root}` stands for the folder of its virtual environment

    @property
    def root(self) -> Path:
        """Its virtual environment."""
        return FOLDER / "peers" / self.name

    @property
    def command(self) -> tuple[Path, ...]:
        """What starts it, without the job."""
        return self.root / "bin" / "python", ROOT / "benchmarks" / "peers" / f"{self.name}_adapter.py"

    @property
    def installed(self) -> bool:
        """Whether `make bench-peers` has been here: the stamp is written last."""
        return (self.root / "installed").exists()


class PeerFailed(Exception):
    """A peer refused the job, died or spoke nonsense."""


class PeerLate(PeerFailed):
    """A peer did not answer in the time it was given."""


@dataclass(frozen=True, slots=True)
class Round:
    """One timed round of a peer."""

    seconds: float
    answers: list[Any]


class Running:
    """A peer's process, kept from round to round. Use as a context manager: it is stopped, children included, at the end."""

    def __init__(self, peer: Peer, job: Job) -> None:
        self.peer, self.version = peer, ""
        self.settings: dict[str, Any] = {}
        jobs = FOLDER / "jobs"
        jobs.mkdir(parents=True, exist_ok=True)
        self._job = jobs / f"{os.getpid()}-{peer.name}.json"
        self._job.write_text(json.dumps(asdict(job)))
        extra = {key: value.replace("{root}", str(peer.root)) for key, value in peer.environment.items()}
        threads = {"OMP_NUM_THREADS": str(job.threads), "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self._log = (jobs / f"{peer.name}.log").open("wb")
        self._process = subprocess.Popen(
            [*peer.command, self._job],
            cwd=ROOT,
            env={**_bare_environment(), **threads, **extra},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self._pending = b""

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def session(self) -> int:
        """The number of the session that it and its children make up."""
        return self._process.pid

    def start(self, within: float = START_SECONDS) -> None:
        """Wait until it is ready. Raises PeerFailed with its own reason, PeerLate when it takes longer than `within` seconds."""
        said = self._read(within)
        if "refused" in said:
            raise PeerFailed(str(said["refused"]))
        if not said.get("ready"):
            raise PeerFailed(f"it began with {said}")
        self.version, self.settings = str(said.get("version", "")), dict(said.get("settings", {}))

    def round(self, within: float) -> Round:
        """All the work once, in `within` seconds at most."""
        _stream(self._process.stdin).write(b"round\n")
        _stream(self._process.stdin).flush()
        said = self._read(within)
        if "seconds" not in said or "answers" not in said:
            raise PeerFailed(f"it answered {str(said)[:200]}")
        return Round(float(said["seconds"]), list(said["answers"]))

    def stop(self) -> None:
        """End the process and whatever it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            with contextlib.suppress(BrokenPipeError):  # what was not yet read by a process that is gone
                _stream(stream).close()
        self._job.unlink(missing_ok=True)

    def _read(self, within: float) -> dict[str, Any]:
        deadline, out = time.monotonic() + within, _stream(self._process.stdout)
        with selectors.DefaultSelector() as ready:
            ready.register(out, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    raise PeerLate(f"no answer in {within:.0f} s")
                piece = os.read(out.fileno(), 1 << 20)
                if not piece:
                    raise PeerFailed(f"it ended: {self._last_words()}")
                self._pending += piece
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            said = json.loads(line)
        except ValueError as error:
            raise PeerFailed(f"it wrote {line[:200]!r}") from error
        if not isinstance(said, dict):
            raise PeerFailed(f"it wrote {line[:200]!r}")
        return said

    def _last_words(self) -> str:
        lines = Path(self._log.name).read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "without a word"


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise PeerFailed("its pipes are gone")
    return stream


def _bare_environment() -> dict[str, str]:
    """Ours without what would lead the peer's Python to our packages."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "MKL_", "ATEN_"))}
