"""From a job's items to engine requests and back, with the bundled model."""

import json
import queue
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import engine
from engine_queue.errors import ReferenceUnusable, WorkerRefused
from engine_queue.host import Flight, Host
from engine_queue.sequences import Sequences
from engine_queue.work import Claimed, Work, WorkItem
from registry import pins
from registry.models import ModelVersion
from registry.services import register_deployment
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import BASES
from tests.services import ROOT

MODEL = ROOT / "models" / "ecoli-orf-2k"


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    made = Host()
    made.load(DEPLOYMENT, MODEL, {"threads": 2, "self_test": False})
    yield made
    made.stop()


@pytest.fixture
def work(tmp_path: Path) -> Work:
    path = tmp_path / "reference.fa"
    path.write_text(f">contig1\n{BASES}\n")
    claimed = Claimed(1, uuid4(), 1, "worker/1", DEPLOYMENT, 3, 0, 0, 0)
    protocol: dict[str, object] = {"kind": "centred", "window": 64, "strand": "forward"}
    return Work(claimed, "variant", protocol, str(path), Sequences(str(path)).digest(), [])


def snv(ordinal: int, position: int, *, ref: str = "", contig: str = "contig1") -> WorkItem:
    base = ref or BASES[position - 1]
    return WorkItem(ordinal + 1, ordinal, contig, position, base, next(b for b in "ACGT" if b != base), "")


def flown(host: Host, work: Work) -> Flight:
    landed: queue.Queue[Flight] = queue.Queue()
    host.begin(work, landed.put)
    flight = landed.get(timeout=60)
    host.forget(work.claimed.job_id)
    return flight


def test_a_variant_scores_as_the_engine_scores_it_alone(host: Host, work: Work) -> None:
    (score,) = flown(host, replace(work, items=[snv(0, 300)])).scores()
    again = flown(host, replace(work, items=[snv(n, 250 + n) for n in range(20)] + [snv(20, 300)])).scores()[-1]
    assert (score.ll_ref, score.ll_alt, score.delta, score.tokens) == (again.ll_ref, again.ll_alt, again.delta, 64)
    assert score.bases == 64
    assert score.delta == pytest.approx((score.ll_alt or 0) - (score.ll_ref or 0))


def test_equal_requests_within_a_job_are_computed_once(host: Host, work: Work) -> None:
    twice = [snv(0, 300), replace(snv(1, 300), alt=next(b for b in "TGCA" if b != BASES[299]))]
    flight = flown(host, replace(work, items=twice))
    assert len(flight.requests) == 3
    first, second = flight.scores()
    assert first.ll_ref == second.ll_ref
    assert first.ll_alt != second.ll_alt


def test_an_item_that_cannot_be_scored_fails_alone(host: Host, work: Work) -> None:
    wrong = next(b for b in "ACGT" if b != BASES[499])
    items = [snv(0, 300), snv(1, 500, ref=wrong), replace(snv(2, 300), alt="<DEL>"), snv(3, 9, contig="nowhere", ref="A")]
    scores = flown(host, replace(work, items=items)).scores()
    assert [score.failure for score in scores] == [
        "",
        "item.reference-mismatch",
        "item.unsupported-allele",
        "item.unknown-contig",
    ]


def test_an_event_without_written_alleles_is_scored_up_to_its_end_and_says_how(host: Host, work: Work) -> None:
    written = replace(snv(0, 300), ref=BASES[299:310], alt=BASES[299])
    event = replace(snv(1, 300), alt="<DEL>", end=310)
    spelled, whole, broken = flown(host, replace(work, items=[written, event, replace(event, id=3, end=900)])).scores()
    assert (whole.ll_ref, whole.ll_alt, whole.delta) == (spelled.ll_ref, spelled.ll_alt, spelled.delta)
    assert (spelled.flags, whole.flags) == ((), ("item.scored-whole",))
    assert broken.flags == ("item.scored-breakpoints",)
    assert broken.delta not in (None, whole.delta)


def test_what_the_engine_says_about_an_item_is_kept(host: Host, work: Work) -> None:
    left, middle, right = flown(host, replace(work, items=[snv(0, 5), snv(1, 300), snv(2, len(BASES) - 5)])).scores()
    assert (left.flags, middle.flags, right.flags) == (("item.window-cut-left",), (), ("item.window-cut-right",))


def test_a_job_of_items_that_all_fail_still_lands(host: Host, work: Work) -> None:
    flight = flown(host, replace(work, items=[replace(snv(0, 300), alt="*")]))
    assert [score.failure for score in flight.scores()] == ["item.unsupported-allele"]


def test_a_sequence_has_no_reference_and_no_delta(host: Host, work: Work) -> None:
    item = WorkItem(1, 0, "", 0, "", "", BASES[:200])
    long = WorkItem(2, 1, "", 0, "", "", BASES[:3000])
    whole, refused = flown(host, replace(work, kind="sequence", items=[item, long])).scores()
    assert (whole.ll_ref, whole.delta, whole.tokens, whole.bases) == (None, None, 200, 200)
    assert whole.ll_alt is not None
    assert refused.failure == "item.context-too-long"


def test_the_due_time_of_a_job_is_that_of_its_requests_from_the_first_step_on_and_when_it_is_promoted(
    host: Host, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = host._loops[DEPLOYMENT].engine.scheduler
    seen: list[float] = []
    reclassed: list[float] = []
    add, reclass = scheduler.add, scheduler.reclass
    monkeypatch.setattr(scheduler, "add", lambda *said: (seen.append(said[-1]), add(*said)))
    monkeypatch.setattr(scheduler, "reclass", lambda *said: (reclassed.append(said[-1]), reclass(*said))[1])
    claimed, landed = replace(work.claimed, due=4e9), queue.Queue[Flight]()
    host.begin(replace(work, claimed=claimed, protocol={**work.protocol, "window": 400}, items=[snv(0, 1000)]), landed.put)
    host.reclass(claimed.job_id, 0, 3e9)
    landed.get(timeout=60)
    host.forget(claimed.job_id)
    assert (set(seen), set(reclassed)) == ({4e9}, {3e9})


def test_a_cancelled_job_never_lands(host: Host, work: Work) -> None:
    landed: list[Flight] = []
    host.begin(replace(work, protocol={**work.protocol, "window": 400}, items=[snv(n, 1000 + n) for n in range(50)]), landed.append)
    assert host.cancel(work.claimed.job_id)
    assert not host.cancel(work.claimed.job_id)
    flown(host, replace(work, items=[snv(0, 300)]))
    assert landed == []


def test_an_engine_that_stops_gives_the_job_back(work: Work) -> None:
    own = Host()
    own.load(DEPLOYMENT, MODEL, {"threads": 2, "self_test": False})
    own._loops[DEPLOYMENT].stop(drain=False, timeout=10)
    assert flown(own, replace(work, items=[snv(0, 300)])).fault == "engine_stopped"
    assert not own.healthy()
    assert own.complaint() == f"{DEPLOYMENT}: the engine loop does not run"


def test_its_figures_are_those_of_each_engine_and_their_sums(host: Host, work: Work) -> None:
    flown(host, replace(work, items=[snv(0, 300)]))
    stats = json.loads(json.dumps(host.stats()))
    assert stats["complaint"] == ""
    assert stats["tokens"] == stats["engines"][DEPLOYMENT]["tokens"] > 0
    assert stats["engines"][DEPLOYMENT]["finished"] > 0


def test_a_reference_that_is_not_the_pinned_one_is_refused(host: Host, work: Work) -> None:
    with pytest.raises(ReferenceUnusable, match="no longer holds") as changed:
        host.begin(replace(work, reference_digest="0" * 64), lambda flight: None)
    with pytest.raises(ReferenceUnusable, match="cannot be read") as missing:
        host.begin(replace(work, reference_path="/nowhere.fa"), lambda flight: None)
    assert (changed.value.code, missing.value.code) == ("reference.changed", "reference.unreadable")


@pytest.mark.parametrize(("folder", "pin"), [("nowhere", {}), ("ecoli-orf-2k", {"threads": 0}), ("ecoli-orf-2k", {"colour": 1})])
def test_what_cannot_be_loaded_is_refused_in_one_line(folder: str, pin: dict[str, int]) -> None:
    with pytest.raises(WorkerRefused, match=r"^deployment d cannot be loaded: ") as refused:
        Host().load("d", ROOT / "models" / folder, pin)
    assert "\n" not in str(refused.value)


@pytest.mark.django_db
@pytest.mark.parametrize("pin", [{"blocks": 2**20 + 1}, {"blocks": 10**12}, {"slots": 4097}, {"swap_blocks": 2**20 + 1}])
def test_a_size_beyond_any_machine_is_refused_where_it_is_pinned_and_where_it_lies_stored(pin: dict[str, int]) -> None:
    ((name, size),) = pin.items()
    words = f"{name} must be between 1 and {pins.MOST[name]:,}, not {size:,}"
    with pytest.raises(pins.PinRefused, match=f"^{words}$"):
        register_deployment(name="d", model_version=ModelVersion(), precision="fp32", pin=pin)
    with pytest.raises(WorkerRefused, match=f"^deployment d cannot be loaded: {words}$"):
        Host().load("d", MODEL, pin)


def test_the_folder_for_what_gives_way_is_the_workers_and_no_pins(settings: Any, tmp_path: Path) -> None:
    with pytest.raises(WorkerRefused, match=r"the worker's own setting, SWAP_FOLDER$"):
        Host().load("d", MODEL, {"swap_folder": str(tmp_path)})
    settings.SWAP_FOLDER = str(tmp_path / "swap")
    made = Host()
    made.load(DEPLOYMENT, MODEL, {"threads": 2, "self_test": False, "swap_blocks": 8})
    assert [path.name for path in (tmp_path / "swap").iterdir()] == ["worker-0"]
    assert made.stats()["engines"][DEPLOYMENT]["arena_total"] == 8
    made.stop()


def test_a_swap_folder_that_cannot_be_used_stops_no_worker_and_is_told(settings: Any, tmp_path: Path) -> None:
    settings.SWAP_FOLDER = str(tmp_path / "swap")
    (tmp_path / "swap").write_text("no folder")
    made = Host()
    made.load(DEPLOYMENT, MODEL, {"threads": 2, "self_test": False, "swap_blocks": 8})
    assert made.stats()["swapless"] == {DEPLOYMENT: f"swap_folder {tmp_path / 'swap'} cannot be used: File exists"}
    assert (made.stats()["engines"][DEPLOYMENT]["arena_total"], (tmp_path / "swap").read_text()) == (8, "no folder")
    made.stop()


def test_memory_that_is_not_there_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*args: object, **kwargs: object) -> engine.Engine:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.\nframe 0: …")

    monkeypatch.setattr(engine, "load", load)
    with pytest.raises(WorkerRefused, match=r"^deployment d cannot be loaded: DefaultCPUAllocator: can't allocate .* 9 bytes\.$"):
        Host().load("d", MODEL, {})


def test_reason_codes_of_the_engine_have_words() -> None:
    from engine import errors, protocols
    from engine_queue.host import _code
    from foundation import reasons

    faults = [
        cls.code
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, (engine.RequestRefused, engine.RowFailed))
    ]
    assert {_code(name) for name in [*faults, *protocols.FLAGS]} <= reasons.WORDS.keys()


class Sleeper:
    """In place of a loop: a step that hangs for 15 s cannot be provoked."""

    def __init__(self, steps: int, complaint: str = "") -> None:
        self.steps, self.complaint = steps, complaint

    def stats(self) -> dict[str, float]:
        return {"queued": 1, "steps": self.steps}


def test_the_jobs_of_an_engine_that_hangs_are_not_kept_because_another_computes() -> None:
    found = Host()
    computes, hangs = Sleeper(3), Sleeper(4)
    found._loops = {"a": computes, "b": hangs}  # type: ignore[dict-item]
    assert found.progress() == 7
    computes.steps, hangs.complaint = 5, "step 5 has run for 16 s"
    assert found.progress() == 7
    hangs.complaint = ""
    assert found.progress() == 9


def test_a_worker_whose_work_is_all_on_hold_has_nothing_to_move(work: Work) -> None:
    """Else its lease would say that the engine computes nothing although it has work."""
    found = Host()
    found._loops = {"a": Sleeper(3)}  # type: ignore[dict-item]
    found._flights = {1: Flight(work, lambda flight: None), 2: Flight(work, lambda flight: None, rests=True)}
    assert found.progress() == 3
    found._flights[1].rests = True
    assert found.progress() is None


def test_a_job_in_work_says_where_it_is_and_when_the_engine_expects_to_be_done_with_it(host: Host, work: Work) -> None:
    flown(host, replace(work, items=[snv(n, 250 + n) for n in range(4)]))  # steps to measure
    landed: queue.Queue[Flight] = queue.Queue()
    host.begin(replace(work, protocol={**work.protocol, "window": 400}, items=[snv(n, 900 + n) for n in range(40)]), landed.put)
    seen = []
    while landed.empty():
        seen += [found for _, found in host.whereabouts().values()]
    host.forget(work.claimed.job_id)
    assert host.whereabouts() == {}
    assert "running" in {found.state for found in seen}
    foretold = [found for found in seen if found.low is not None and found.high is not None]
    assert foretold and all(found.low <= found.high for found in foretold)
    ended = landed.get().found
    assert ended is not None and ended.began is not None and ended.pauses == ()
