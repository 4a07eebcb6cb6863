"""Peers as contestants: started before anything is timed, asked in turn, stopped when they are late."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine, models
from benchmarks.comparing import Contestant, Run
from benchmarks.measured import Measured
from benchmarks.peer import FOLDER, Job, Kind, Peer, PeerFailed, Precision, Running, Work
from benchmarks.peers import PEERS


def chosen(names: Sequence[str] | None, kind: Kind, precision: Precision) -> tuple[Peer, ...]:
    """The installed peers of those named (None: all) that do this kind of work."""
    found = (peer for peer in PEERS if names is None or peer.name in names)
    return tuple(peer for peer in found if peer.installed and kind in peer.kinds and precision in peer.precisions)


def job(kind: Kind, work: Sequence[Work], precision: Precision, *, threads: int, model: Path | None = None, **more: Any) -> Job:
    """The job for a kind of work on `dna-small`, or another model folder."""
    place = models.folder() if model is None else model
    longest = max(len(piece.tokens) + piece.limit for piece in work)
    cache = FOLDER / "converted"
    cache.mkdir(parents=True, exist_ok=True)
    return Job(kind, str(place), str(cache), tuple(work), precision, threads, context=longest, **more)


@contextlib.contextmanager
def started(result: Measured, peers: Sequence[Peer], work: Job) -> Iterator[dict[str, Contestant]]:
    """Contestants by name; whoever cannot start is named in the notes."""
    contestants: dict[str, Contestant] = {}
    with contextlib.ExitStack() as stack:
        for peer in peers:
            running = stack.enter_context(Running(peer, work))
            try:
                running.start()
            except PeerFailed as failure:
                result.notes.append(f"{peer.name} could not start: {failure}")
                running.stop()
                continue
            result.settings[peer.name] = {"version": running.version, **running.settings}
            contestants[peer.name] = _contestant(running)
        yield contestants


def _contestant(running: Running) -> Contestant:
    def run(within: float) -> Run:
        worked = machine.core_seconds(running.session)
        try:
            found = running.round(within)
        except PeerFailed:
            running.stop()
            raise
        return Run(found.seconds, found.answers, machine.core_seconds(running.session) - worked)

    return run
