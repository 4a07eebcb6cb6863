"""The adapters' side: stand-ins that answer, lie, hang and crash, and what can be said of the real ones without installing them."""

import ast
import dataclasses
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import agreement, peer
from benchmarks.comparing import Run, alternate
from benchmarks.peer import ROOT, Job, Peer, PeerFailed, PeerLate, Running, Work
from benchmarks.peers import PEERS, __main__, building
from benchmarks.peers.serving import batches, in_order, packed

FOLDER = ROOT / "benchmarks" / "peers"
JOB = Job("score", "model", "cache", (Work((4, 5, 6)), Work((7, 4))), threads=1)
BEGIN = f"""
import os, subprocess, sys, time
sys.path.insert(0, {str(FOLDER)!r})
from serving import Ready, Refused, serve
def score(job):
    return [-float(len(piece.tokens)) for piece in job.work]
def prepare(job):
    return Ready("1.2", {{"kind": job.kind}}, lambda: score(job))
"""
HONEST = BEGIN + "serve(prepare)"
LOUD = BEGIN + (
    "def prepare(job):\n"
    "    os.write(1, b'Loading'); print('weights'); subprocess.run(['echo', 'from a child'])\n"
    "    return Ready('1.2', {}, lambda: (print('step'), score(job))[1])\n"
    "serve(prepare)"
)
LYING = BEGIN + "def score(job): return [0.0 for piece in job.work]\nserve(prepare)"
SHORT = BEGIN + "def score(job): return [0.0]\nserve(prepare)"
HANGING = BEGIN + "def score(job): time.sleep(60)\nserve(prepare)"
RAISING = BEGIN + "def score(job): raise RuntimeError('out of blocks')\nserve(prepare)"
CRASHING = BEGIN + "def score(job): os.abort()\nserve(prepare)"
REFUSING = BEGIN + "def prepare(job): raise Refused('no such precision')\nserve(prepare)"
PARENT = BEGIN + (
    "def prepare(job):\n"
    "    child = subprocess.Popen(['sleep', '60'])\n"
    "    return Ready('1', {'child': child.pid}, lambda: time.sleep(60))\n"
    "serve(prepare)"
)


@dataclasses.dataclass(frozen=True)
class Scripted(Peer):
    script: Path = Path()

    @property
    def command(self) -> tuple[Path, ...]:
        return Path(sys.executable), self.script


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Running]:
    monkeypatch.setattr(peer, "FOLDER", tmp_path)

    @contextmanager
    def made(script: str, job: Job = JOB) -> Iterator[Running]:
        path = tmp_path / f"{abs(hash(script))}.py"
        path.write_text(script)
        with Running(Scripted("scripted", frozenset({"score"}), script=path), job) as running:
            running.start(30)
            yield running

    return made


def test_an_adapter_answers_in_the_order_of_the_work(stand_in: Callable[..., Running]) -> None:
    with stand_in(HONEST) as running:
        assert (running.version, running.settings) == ("1.2", {"kind": "score"})
        assert [running.round(30).answers for _ in range(2)] == [[-3.0, -2.0]] * 2


def test_what_libraries_print_does_not_get_into_the_conversation(stand_in: Callable[..., Running]) -> None:
    with stand_in(HONEST) as quiet, stand_in(LOUD) as loud:
        assert loud.round(30).answers == quiet.round(30).answers


def test_an_adapter_times_its_own_round(stand_in: Callable[..., Running]) -> None:
    slow = BEGIN + "def score(job): time.sleep(0.2); return [0.0, 0.0]\nserve(prepare)"
    with stand_in(slow) as running:
        begun = time.monotonic()
        assert 0.2 <= running.round(30).seconds <= time.monotonic() - begun


def test_a_refusal_is_in_words(stand_in: Callable[..., Running]) -> None:
    with pytest.raises(PeerFailed, match="no such precision"), stand_in(REFUSING):
        pass


@pytest.mark.parametrize(("script", "words"), [(RAISING, "out of blocks"), (CRASHING, "it ended")])
def test_an_engine_that_fails_in_a_round_is_a_failed_peer(stand_in: Callable[..., Running], script: str, words: str) -> None:
    with stand_in(script) as running, pytest.raises(PeerFailed, match=words):
        running.round(30)


def test_what_an_engine_started_ends_with_it(stand_in: Callable[..., Running]) -> None:
    with stand_in(PARENT) as running:
        with pytest.raises(PeerLate):
            running.round(0.2)
        child = Path(f"/proc/{running.settings['child']}/stat")
        assert child.exists()
    deadline = time.monotonic() + 30
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, "the child is still running"
        time.sleep(0.02)


def test_a_benchmark_outlives_peers_that_lie_hang_crash_and_answer_too_little(stand_in: Callable[..., Running]) -> None:
    expected = [(None, (-3.0,)), (None, (-2.0,))]

    def ours(_within: float) -> Run:
        return Run(0.1, expected, 0.1)

    def theirs(running: Running) -> Callable[[float], Run]:
        def run(within: float) -> Run:
            found = running.round(min(within, 5.0))
            return Run(found.seconds, found.answers, 0.0)

        return run

    complaint = agreement.sums([3, 2], "fp32")
    with stand_in(HONEST) as good, stand_in(LYING) as liar, stand_in(HANGING) as idler, stand_in(CRASHING) as dying:
        contestants = {"good": good, "liar": liar, "idler": idler, "dying": dying}
        found = alternate({"ours": ours, **{name: theirs(one) for name, one in contestants.items()}}, 1, complaint)
    assert found.times["good"].fault == "" and not found.times["good"].late
    assert "nats a token" in found.times["liar"].fault
    assert found.times["idler"].late
    assert found.times["dying"].fault


def test_batches_hold_every_place_once_and_no_more_than_they_may() -> None:
    drawn = random.Random(5)
    lengths = [drawn.randint(1, 300) for _ in range(500)] + [5000]
    found = list(batches(lengths, 1000))
    assert sorted(place for batch in found for place in batch) == list(range(501))
    assert [len(batch) for batch in found if 500 in batch] == [1]
    assert all(len(batch) * max(lengths[place] for place in batch) <= 1000 for batch in found if 500 not in batch)


def test_batches_of_like_lengths_are_padded_little() -> None:
    drawn = random.Random(6)
    lengths = [drawn.randint(35, 300) for _ in range(2000)]
    computed = sum(len(batch) * max(lengths[place] for place in batch) for batch in batches(lengths, 4096))
    assert computed < 1.05 * sum(lengths)


def test_packs_hold_every_place_once_and_no_more_than_they_may() -> None:
    drawn = random.Random(7)
    lengths = [drawn.randint(1, 300) for _ in range(500)] + [5000]
    found = list(packed(lengths, 1000, 8))
    assert sorted(place for pack in found for place in pack) == list(range(501))
    assert all(len(pack) <= 8 and sum(lengths[place] for place in pack) <= 1000 for pack in found if 500 not in pack)


def test_answers_come_back_in_order() -> None:
    assert in_order(3, [(2, "c"), (0, "a"), (1, "b")]) == ["a", "b", "c"]


@pytest.mark.parametrize("name", [one.name for one in PEERS])
def test_every_peer_has_an_adapter_that_imports_nothing_of_ours(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}_adapter.py").read_text())
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert "serving" in modules
    assert not {module.split(".")[0] for module in modules} & {"benchmarks", "engine", "kernels", "tests"}


@pytest.mark.parametrize("name", sorted({building.BORROWED.get(one.name, one.name) for one in PEERS}))
def test_every_environment_has_exact_versions_and_the_torch_of_this_project(name: str) -> None:
    lines = [line for line in (FOLDER / f"{name}.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines and all(line.count("==") == 1 and "@" not in line for line in lines)
    torch = [line for line in lines if line.startswith("torch")]
    assert torch in ([], ["torch==2.13.0"])


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Where environments are made without making them: the commands are written down."""
    commands: list[tuple[str, ...]] = []

    def note(_log: Path, *command: object, **_: object) -> None:
        commands.append(tuple(map(str, command)))
        if "venv" in commands[-1]:
            Path(commands[-1][-1]).mkdir(parents=True)

    monkeypatch.setattr(building, "FOLDER", tmp_path)
    monkeypatch.setattr(peer, "FOLDER", tmp_path)
    monkeypatch.setattr(building, "run", note)
    return commands


def test_an_environment_is_made_once_for_each_list(workshop: list[tuple[str, ...]]) -> None:
    building.build("openvino")
    made = len(workshop)
    assert any("--no-deps" in command for command in workshop)
    building.build("openvino")
    assert len(workshop) == made
    (building.FOLDER / "peers" / "openvino" / "installed").write_text("of another list")
    building.build("openvino")
    assert len(workshop) == 2 * made


def test_a_borrowed_environment_is_the_other_one(workshop: list[tuple[str, ...]]) -> None:
    building.build("transformers_cb")
    assert next(one for one in PEERS if one.name == "transformers_cb").installed
    assert (building.FOLDER / "peers" / "transformers_cb").resolve() == building.FOLDER / "peers" / "transformers"


def test_one_that_cannot_be_built_is_named_and_does_not_stop_the_others(
    workshop: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = building.run

    def run(log: Path, *command: object, **more: object) -> None:
        if any("openvino.txt" in str(word) for word in command):
            raise building.BuildFailed("pip ended with 1")
        honest(log, *command, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "run", run)
    assert __main__.main(["openvino", "transformers"]) == 1
    assert "openvino: not built. pip ended with 1" in capsys.readouterr().err
    assert [one.name for one in PEERS if one.installed] == ["transformers"]


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["tensorflow"]) == 2
    assert "openvino" in capsys.readouterr().err


def test_a_failed_command_shows_the_end_of_its_log(tmp_path: Path) -> None:
    with pytest.raises(building.BuildFailed, match=r"ended with 3(?s:.*)no space"):
        building.run(tmp_path / "log", sys.executable, "-c", "import sys; print('no space'); sys.exit(3)")
