"""Files below the arena: real ones, and each way in which a disk can fail. Whatever it does, the bits are those of one alone."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.config import EngineConfig
from engine.errors import ConfigRefused
from engine.loading import load
from engine.loop import EngineLoop
from engine.request import Embed, Generate, Outcome, Priority, Request, Sampling, Score
from engine.runner import Runner
from engine.swap import folder
from engine.swap.content import Failure, Outside, Where
from engine.swap.tier import FileTier
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import alone, bits, scheduler
from tests.engine.test_loop import WAIT, Waiting
from tests.services import ROOT

SETTINGS = dataclasses.replace(CONFIG, chunk=16, token_budget=64, blocks=60, swap_blocks=40, swap_seconds=50.0)
TOKENS = tuple(index * index % 11 for index in range(90))
REQUESTS: list[Request] = [Score(TOKENS), Generate(TOKENS[:30], 6, Sampling(temperature=1.2, seed=4)), Embed(TOKENS[:60])]
PRINT = "0" * 64


@pytest.fixture(scope="module")
def machine(checkpoint: Path) -> Runner:
    return Runner(model(checkpoint), CONFIG)


@pytest.fixture(scope="module")
def expected(machine: Runner) -> list[bytes]:
    return [bits(alone(CONFIG, machine.run, request)) for request in REQUESTS]


@pytest.fixture(params=[True, False], ids=["encrypted", "plain"])
def tier(request: pytest.FixtureRequest, machine: Runner, tmp_path: Path) -> Iterator[FileTier]:
    made = tier_of(machine, tmp_path, encrypted=request.param)
    yield made
    made.close(WAIT)


def tier_of(machine: Runner, root: Path, *, cap: int = 1 << 30, encrypted: bool = True, fingerprint: str = PRINT) -> FileTier:
    return FileTier(root, machine.arena.memory, fingerprint, cap=cap, encrypted=encrypted)


class Away:
    """Requests that have run for some steps and been sent away; all of them are in files, as far as those can be written."""

    def __init__(self, machine: Runner, tier: FileTier, steps: int = 3) -> None:
        self.machine, self.tier, self.now = machine, tier, 0.0
        self.policy = scheduler(SETTINGS, outside=Outside(SETTINGS.arena_blocks, machine.arena.block_bytes, tier))
        self.swapping, self.outcomes = self.policy.swapping, dict[int, Outcome]()
        self.swapping.keep = 0
        for handle, request in enumerate(REQUESTS):
            self.policy.add(handle, request, Priority.ROUTINE, 0.0)
        for _ in range(steps):
            self.step()
        self.policy.admits = Priority.STAT  # nobody of them comes back yet
        for sequence in list(self.policy._slots):
            self.policy._evict(sequence)
        self.step()
        self.until(lambda: not any(content.busy or (content.filed and content.slots) for content in self.contents))

    @property
    def contents(self) -> list:
        return list(self.swapping._contents.values())

    def file(self, handle: int = 0) -> Path:
        return self.tier.file(self.policy._by_handle[handle].swapped.number)

    def step(self) -> None:
        batch = self.policy.schedule(self.now)
        outcomes = self.policy.postprocess(batch, self.machine.run(batch))
        self.outcomes |= {outcome.handle: outcome for outcome in outcomes}
        self.policy.check()

    def until(self, come: Callable[[], bool]) -> None:
        for _ in range(2000):
            if come():
                return
            self.tier.wait(0.01)
            self.step()
        raise AssertionError("it does not come to that")

    def back(self) -> None:
        self.policy.admits = Priority.ROUTINE

    def finish(self, expected: list[bytes]) -> None:
        """To the end, with the bits of each alone and nothing left anywhere."""
        self.back()
        self.until(lambda: not self.policy.has_work)
        finished = {handle: bits(one) for handle, one in self.outcomes.items() if one.state == "finished"}
        assert finished == {handle: expected[handle] for handle in finished}
        self.until(lambda: self.swapping.slots.used == self.tier.count == self.tier.size == 0)
        assert (self.policy.pool.available, list(self.tier.path.glob("*.swap"))) == (SETTINGS.blocks, [])


def test_what_lies_in_files_comes_back_exactly(machine: Runner, tier: FileTier, expected: list[bytes]) -> None:
    for steps in (1, 2, 3, 5):
        away = Away(machine, tier, steps)
        assert {content.where for content in away.contents} == {Where.FILE}
        assert (tier.count, away.swapping.slots.used, tier.size) == (
            len(away.contents), 0, sum(path.stat().st_size for path in tier.path.glob("*.swap"))
        )  # fmt: skip
        tokens = away.policy.tokens
        away.finish(expected)
        assert len(away.outcomes) == 3
        assert (away.swapping.failures.total(), away.swapping.recomputed) == (0, 0)
        assert away.policy.tokens - tokens < 89 + 35 + 60 - tokens + 1


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 16
    path.write_bytes(content)


SPOILT: dict[str, tuple[Failure, Callable[[Path], object]]] = {
    "gone": (Failure.MISSING, lambda path: path.unlink()),
    "torn in the middle": (Failure.TORN, lambda path: os.truncate(path, path.stat().st_size // 2)),
    "torn in its header": (Failure.TORN, lambda path: os.truncate(path, 9)),
    "empty": (Failure.TORN, lambda path: os.truncate(path, 0)),
    "longer": (Failure.TORN, lambda path: path.write_bytes(path.read_bytes() + b"x")),
    "a bit of a block": (Failure.CORRUPT, lambda path: flip(path, -1000)),
    "a bit of the checksum": (Failure.CORRUPT, lambda path: flip(path, 68)),
    "another format": (Failure.CORRUPT, lambda path: flip(path, 0)),
    "another version": (Failure.FOREIGN, lambda path: flip(path, 8)),
    "another number": (Failure.FOREIGN, lambda path: flip(path, 44)),
    "a folder in its place": (Failure.REFUSED, lambda path: (path.unlink(), path.mkdir())),
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_file_that_is_not_what_was_written_is_seen_and_computed_again(
    machine: Runner, tier: FileTier, expected: list[bytes], what: str, caplog: pytest.LogCaptureFixture
) -> None:
    (failure, spoil), away = SPOILT[what], Away(machine, tier)
    path = away.file()
    spoil(path)
    away.back()
    away.until(lambda: not away.policy.has_work)
    assert (away.swapping.failures, away.swapping.recomputed) == ({failure: 1}, 1)
    assert away.swapping.stats()[f"swap_failures_{failure.value}"] == 1
    assert any(failure.value in record.message for record in caplog.records)
    if path.is_dir():
        path.rmdir()
    away.finish(expected)
    assert len(away.outcomes) == 3


@pytest.mark.parametrize(("other", "failure"), [({}, Failure.KEY), ({"fingerprint": "1" * 64}, Failure.FOREIGN)])
def test_a_file_of_another_key_or_deployment_is_not_taken(
    machine: Runner, tmp_path: Path, expected: list[bytes], other: dict[str, str], failure: Failure
) -> None:
    own, others = tier_of(machine, tmp_path), tier_of(machine, tmp_path, **other)
    away, stranger = Away(machine, own), Away(machine, others)
    shutil.copy(stranger.file(), away.file())
    away.finish(expected)
    assert away.swapping.failures == {failure: 1}
    stranger.finish(expected)
    for tier in (own, others):
        tier.close(WAIT)


@contextlib.contextmanager
def disk_full() -> Iterator[None]:
    """No file of this process may grow beyond two pages."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_keeps_what_it_was_to_take_in_the_arena(machine: Runner, tier: FileTier, expected: list[bytes]) -> None:
    with disk_full():
        away = Away(machine, tier)
    assert away.swapping.failures == {Failure.FULL: len(away.contents)}
    assert {content.where for content in away.contents} == {Where.ARENA}
    assert list(tier.path.glob("*.part")) == []
    away.finish(expected)
    assert (len(away.outcomes), away.swapping.recomputed) == (3, 0)


def test_a_folder_that_has_gone_keeps_it_there_too(machine: Runner, tier: FileTier, expected: list[bytes]) -> None:
    shutil.rmtree(tier.path)
    away = Away(machine, tier)
    assert away.swapping.failures == {Failure.REFUSED: len(away.contents)}
    away.finish(expected)
    assert len(away.outcomes) == 3


READ_ONLY = """
import os, sys
from pathlib import Path
import numpy as np
from engine.swap.tier import FileTier
root = Path(sys.argv[1])
if os.geteuid() == 0:  # who may write everywhere
    root.chmod(0o777)
    os.setuid(65534)
tier = FileTier(root, np.zeros((1, 64), dtype=np.uint8), "0", cap=1 << 20, encrypted=False)
tier.path.chmod(0o500)
tier.write(1, [0])
while not (done := tier.finished()):
    tier.wait(0.01)
tier.path.chmod(0o700)
print(done[0].failure, [path.name for path in tier.path.iterdir()])
"""


def test_a_folder_that_cannot_be_written_any_more_is_said_and_left_as_it_is() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", READ_ONLY, folder]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "refused ['lock']\n"


def test_the_cap_is_kept(machine: Runner, tmp_path: Path, expected: list[bytes]) -> None:
    cap = 5 * machine.arena.block_bytes
    tier = tier_of(machine, tmp_path, cap=cap)
    away = Away(machine, tier)
    assert 0 < tier.size <= cap
    assert away.swapping.failures == {Failure.CAP: len(away.contents) - tier.count}
    away.finish(expected)
    tier.close(WAIT)


@contextlib.contextmanager
def stuck(path: Path) -> Iterator[None]:
    """A file that does not come: whoever opens it waits until somebody writes."""
    path.unlink()
    os.mkfifo(path)
    try:
        yield
    finally:
        while True:
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                break
            except OSError:  # nobody has opened it yet
                time.sleep(0.001)
        path.unlink()


def test_a_slow_disk_holds_up_nobody_and_what_it_does_not_give_in_time_is_computed_again(
    machine: Runner, tier: FileTier, expected: list[bytes]
) -> None:
    away = Away(machine, tier)
    with stuck(away.file()):
        away.back()
        away.until(lambda: away.policy.running + len(away.outcomes) == 2)  # the one that is stuck is read last
        assert away.swapping.loading
        away.policy.add(7, Score(TOKENS[:20]), Priority.ROUTINE, 0.0)
        away.step()
        away.step()
        assert away.outcomes[7].state == "finished"
        away.now += 100.0
        away.step()
        while away.policy.has_work:
            away.step()
        assert (away.swapping.failures, away.swapping.recomputed) == ({Failure.SLOW: 1}, 1)
    del away.outcomes[7]
    away.finish(expected)


@pytest.mark.parametrize("state", ["being written", "in a file", "loading", "in a file, and gone", "loaded"])
def test_cancelling_leaves_no_file_and_no_slot(machine: Runner, tier: FileTier, expected: list[bytes], state: str) -> None:
    away = Away(machine, tier)
    sequence = away.policy._by_handle[0]
    if state == "in a file, and gone":
        away.file().unlink()
    elif state == "being written":
        away.back()
        away.until(lambda: sequence.running)
        away.policy._evict(sequence)
        away.policy.admits = Priority.STAT
        away.until(lambda: sequence.swapped.busy)
    elif state == "loading":
        with stuck(away.file()):
            away.back()
            away.step()
            assert sequence.swapped.where is Where.LOADING
            assert away.policy.cancel(0)
    elif state == "loaded":
        away.back()
        away.until(lambda: sequence.swapped is None or sequence.swapped.where is Where.ARENA)
    assert state == "loading" or away.policy.cancel(0)
    away.finish(expected)
    assert away.outcomes[0].state == "cancelled"


def test_encrypted_a_file_holds_nothing_of_what_was_in_memory(machine: Runner, tmp_path: Path) -> None:
    held = np.arange(2 * 4096, dtype=np.uint8).reshape(2, 4096)
    for encrypted in (True, False):
        tier = FileTier(tmp_path, held.copy(), PRINT, cap=1 << 20, encrypted=encrypted)
        tier.write(1, [0, 1])
        while not tier.finished():
            tier.wait(0.01)
        assert (held[0].tobytes() in tier.file(1).read_bytes()) is not encrypted
        tier.close(WAIT)


def test_every_worker_has_a_folder_of_its_own_and_what_dead_ones_left_goes(tmp_path: Path) -> None:
    left = tmp_path / "worker-1"
    left.mkdir()
    (left / "7.swap").write_bytes(b"somebody's keys and values")
    first, second = folder.claim(tmp_path), folder.claim(tmp_path)
    assert (first.path.name, second.path.name, (left / "7.swap").exists()) == ("worker-0", "worker-1", False)
    (second.path / "8.swap").write_bytes(b"mine")
    third = folder.claim(tmp_path)
    assert (third.path.name, (second.path / "8.swap").exists()) == ("worker-2", True)
    assert first.path.stat().st_mode & 0o077 == 0
    first.release()
    os.close(os.open(first.path / "lock", os.O_RDWR))
    assert folder.claim(tmp_path).path == first.path


def test_a_folder_whose_worker_died_is_taken_and_emptied(tmp_path: Path) -> None:
    dead = folder.claim(tmp_path)
    (dead.path / "1.swap").write_bytes(b"left behind")
    fcntl.flock(dead.lock, fcntl.LOCK_UN)  # what the system does for a process that is gone
    os.close(dead.lock)
    again = folder.claim(tmp_path)
    assert (again.path, [path.name for path in again.path.iterdir()]) == (dead.path, ["lock"])


def test_a_folder_that_cannot_be_used_is_refused_in_a_sentence(machine: Runner, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigRefused, match=r"swap_folder .* cannot be used: Not a directory"):
        tier_of(machine, tmp_path / "file" / "folder")


def test_an_engine_swaps_to_files_waits_for_them_and_leaves_nothing(checkpoint: Path, tmp_path: Path) -> None:
    """The whole of it: two long ones give way to STAT, whose blocks the arena cannot keep."""
    config = EngineConfig(blocks=16, block_size=16, slots=3, chunk=32, grid=16, self_test=False, swap_blocks=12)
    ended, plain = Waiting(), []
    for settings in ({"swap_blocks": 0}, {"swap_folder": str(tmp_path)}):
        engine = load(checkpoint, config=dataclasses.replace(config, **settings))
        engine.scheduler.swapping.keep = 0
        loop, ended = EngineLoop(engine), Waiting()
        loop.start()
        for length in (90, 80):
            loop.submit(Generate(TOKENS[:length], 30), priority=Priority.ROUTINE, on_outcome=ended)
        for _ in range(4):
            loop.submit(Score(TOKENS * 2), priority=Priority.STAT, on_outcome=ended)
        ended.all(6)
        stats = loop.stats()
        assert loop.stop(drain=True, timeout=WAIT)
        engine.check()
        plain.append(sorted(bits(outcome) for outcome in ended.outcomes))
    assert plain[0] == plain[1]
    assert stats["swap_failures"] == stats["swap_files"] == stats["arena_used"] == 0
    assert [path.name for path in tmp_path.glob("*/*")] == ["lock"]


def test_stopped_at_once_an_engine_leaves_no_file_and_tells_everybody(checkpoint: Path, tmp_path: Path) -> None:
    config = EngineConfig(blocks=16, block_size=16, slots=3, chunk=32, grid=16, self_test=False, swap_folder=str(tmp_path))
    engine, ended = load(checkpoint, config=config), Waiting()
    engine.scheduler.swapping.keep = 0
    loop = EngineLoop(engine)
    loop.start()
    for request, priority in ((Generate(TOKENS, 100), Priority.ROUTINE), *[(Score(TOKENS * 2), Priority.STAT)] * 8):
        loop.submit(request, priority=priority, on_outcome=ended)
    assert loop.stop(drain=False, timeout=WAIT)
    assert len(ended.all(9)) == 9
    assert [path.name for path in tmp_path.glob("*/*")] == ["lock"]
