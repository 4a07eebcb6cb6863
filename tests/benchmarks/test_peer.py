"""The conversation with a peer's process, held with small ones of our own."""

import dataclasses
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import peer
from benchmarks.peer import Job, Peer, PeerFailed, PeerLate, Running, Work

JOB = Job("score", "model", "cache", (Work((4, 5, 6)), Work((7, 4))))

GOOD = """
import json, sys
job = json.load(open(sys.argv[1]))
print(json.dumps({"ready": True, "version": "1.2", "settings": {"threads": job["threads"]}}), flush=True)
for line in sys.stdin:
    assert line == "round\\n"
    print(json.dumps({"seconds": 0.5, "answers": [len(piece["tokens"]) for piece in job["work"]]}), flush=True)
"""
MUTE = "import time\ntime.sleep(60)"
DEAD = "import sys\nsys.exit('no such processor')"
REFUSING = 'print(\'{"refused": "no bf16 here"}\', flush=True)'
NOISY = "print('Loading weights...', flush=True)"
SLOW = "import time\nprint('{\"ready\": true}', flush=True)\ntime.sleep(60)"


@dataclasses.dataclass(frozen=True)
class Scripted(Peer):
    script: Path = Path()

    @property
    def command(self) -> tuple[Path, ...]:
        return Path(sys.executable), self.script


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "FOLDER", tmp_path)


@contextmanager
def running(tmp_path: Path, script: str) -> Iterator[Running]:
    path = tmp_path / "peer.py"
    path.write_text(script)
    with Running(Scripted("scripted", frozenset({"score"}), script=path), JOB) as started:
        yield started


def test_it_tells_its_version_and_answers_round_after_round(tmp_path: Path) -> None:
    with running(tmp_path, GOOD) as started:
        started.start(30)
        assert (started.version, started.settings) == ("1.2", {"threads": 2})
        for _ in range(2):
            found = started.round(30)
            assert (found.seconds, found.answers) == (0.5, [3, 2])


@pytest.mark.parametrize(
    ("script", "reason"), [(DEAD, "no such processor"), (REFUSING, "no bf16 here"), (NOISY, "Loading weights")]
)
def test_it_cannot_start_and_says_why(tmp_path: Path, script: str, reason: str) -> None:
    with running(tmp_path, script) as started, pytest.raises(PeerFailed, match=reason):
        started.start(30)


@pytest.mark.parametrize("script", [MUTE, SLOW])
def test_who_is_late_is_stopped(tmp_path: Path, script: str) -> None:
    with running(tmp_path, script) as started:
        with pytest.raises(PeerLate):
            if script == SLOW:
                started.start(30)
            started.round(0.2)
        process = started.session
        started.stop()
    assert not Path(f"/proc/{process}").exists()


def test_our_packages_are_kept_out_of_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "platform")
    seen = "import json, os\nprint(json.dumps({'refused': os.environ.get('PYTHONPATH', 'none')}), flush=True)"
    with running(tmp_path, seen) as started, pytest.raises(PeerFailed, match="none"):
        started.start(30)


def test_no_job_is_left_behind(tmp_path: Path) -> None:
    with running(tmp_path, GOOD) as started:
        started.start(30)
    assert list((tmp_path / "jobs").glob("*.json")) == []


def test_a_job_is_plain_json() -> None:
    assert json.loads(json.dumps(dataclasses.asdict(JOB)))["work"][0] == {"tokens": [4, 5, 6], "limit": 0}
