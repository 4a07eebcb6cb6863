"""The engines of this process: from a job's items to engine requests, and from their outcomes to item scores.

The only module of the platform that imports the engine. No ORM here: engine threads must not wait for a database.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import structlog
from django.conf import settings

import engine
from engine import EngineConfig, EngineError, EngineLoop, RequestRefused, RowFailed, Turns, perfetto, timeline, trace_file
from engine.forecast import Forecast
from engine.swap.folder import refusal as swap_refusal
from engine_queue import sequences
from engine_queue.errors import WorkerRefused
from engine_queue.whereabouts import Part, Pause, State, Whereabouts, pauses_of
from engine_queue.work import Claimed, ItemScore, Work, WorkItem
from foundation import clock
from registry import pins
from registry.pins import PinRefused

log = structlog.get_logger(__name__)

Plan = engine.VariantPlan | engine.SequencePlan | engine.QuestionPlan
ITEM_FAULTS = (RequestRefused, RowFailed)  # of one item; every other error is the engine's own, and the job is given back
STOP_SECONDS = 2.0


@dataclass(frozen=True)
class Bits:
    """What a loaded deployment says of the bits it computes."""

    fingerprint: str  # of the settings that decide them
    golden: str  # digest of the self-test's bits themselves; blank where the deployment runs none
    found: Mapping[str, Any] = field(default_factory=dict)  # bytes and smoke score, under the names of an inspection


@dataclass
class Flight:
    """One job in the engine. Equal requests within it are computed once; a test of arrival ends it exactly once."""

    work: Work
    landed: Callable[["Flight"], None]
    plans: list[tuple[WorkItem, Plan | str]] = field(default_factory=list)  # a plan, or the code of its failure
    requests: dict[engine.Request, int] = field(default_factory=dict)
    outcomes: dict[int, engine.Outcome] = field(default_factory=dict)
    handles: list[int] = field(default_factory=list)
    over: bool = False
    rests: bool = False  # on hold
    found: Whereabouts | None = None  # where it was in the end
    tokenizer: engine.Tokenizer | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def arrive(self, place: int, outcome: engine.Outcome) -> None:
        """Take one outcome; the last one ends the flight."""
        with self.lock:
            self.outcomes[place] = outcome
            if self.over or len(self.outcomes) < len(self.requests):
                return
            self.over = True
        self.found = whereabouts(self, None, {})
        self.landed(self)

    def abandon(self) -> bool:
        """End the flight early; False when it had ended."""
        with self.lock:
            ended, self.over = self.over, True
        return not ended

    @property
    def fault(self) -> str:
        """The code of an error that was the engine's own, not an item's."""
        for outcome in self.outcomes.values():
            if outcome.result is None and not isinstance(outcome.error, ITEM_FAULTS):
                return outcome.error.code if outcome.error else outcome.state
        return ""

    def scores(self) -> list[ItemScore]:
        """What became of each item, in their order."""
        return [self._score(item, plan) for item, plan in self.plans]

    def _score(self, item: WorkItem, plan: Plan | str) -> ItemScore:
        if isinstance(plan, str):
            return ItemScore(item.id, failure=plan)
        outcomes = [self.outcomes[self.requests[request]] for request in plan.requests]
        flags = tuple(_code(flag) for flag in plan.flags)
        for outcome in outcomes:
            if outcome.error is not None:
                return ItemScore(item.id, flags=flags, failure=_code(outcome.error.code))
        if isinstance(plan, engine.QuestionPlan):
            said = engine.combine_question(plan, [cast(engine.Result, outcome.result) for outcome in outcomes])
            return ItemScore(item.id, ll_alt=said.total, tokens=said.tokens, flags=flags, bases=said.bases, answer=said.body)
        results = [cast(engine.ScoreResult, outcome.result) for outcome in outcomes]
        if isinstance(plan, engine.SequencePlan):
            whole = engine.combine_sequence(plan, results)
            return ItemScore(item.id, ll_alt=whole.total, tokens=whole.tokens, flags=flags, bases=whole.bases)
        score = engine.combine(plan, results)
        if item.end:
            flags = (*flags, _code(f"scored_{plan.scored_as}"))
        spelt = engine.spell(plan, results, self.tokenizer) if self.work.kind == "track" and self.tokenizer else None
        return ItemScore(item.id, score.ll_ref, score.ll_alt, score.delta, score.tokens, flags, bases=score.bases, answer=spelt)


class Host:
    """One engine per deployment, each in a loop of its own; they compute one step at a time, STAT of any of them first."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._moved = 0  # steps of all engines, when none of them hung
        self._loops: dict[str, EngineLoop] = {}
        self._flights: dict[int, Flight] = {}
        self._load_seconds: dict[str, float] = {}
        self._swapless: dict[str, str] = {}  # deployment → why it keeps no swap files

    def load(self, deployment: str, folder: Path, pin: Mapping[str, Any]) -> Bits:
        """Start an engine; what it computes here. Raises `WorkerRefused`, with one clear line."""
        began = time.monotonic()
        try:
            pins.require(pin)  # again: a row may be older than its bounds
            config = EngineConfig(**pin, swap_folder=self._swap_folder(deployment))
            loaded = engine.load(folder, config=config)
            bases, smoke = engine.smoke_score(loaded)
        except (EngineError, PinRefused, TypeError, OSError, MemoryError, RuntimeError) as error:  # torch: memory that is not there
            said = next(iter(str(error).splitlines()), type(error).__name__)
            raise WorkerRefused(f"deployment {deployment} cannot be loaded: {said}") from error
        loaded.trace = engine.Trace() if settings.ENGINE_TRACE else None
        loop = EngineLoop(loaded, turns=self._turns)
        loop.start()
        self._loops[deployment] = loop
        self._load_seconds[deployment] = round(time.monotonic() - began, 3)
        found = {**loaded.deployment.as_dict(), "smoke_bases": bases, "smoke_log_likelihood": smoke}
        return Bits(loaded.fingerprint, loaded.golden, found)

    def _swap_folder(self, deployment: str) -> str:
        """The one that is configured; none where that cannot be used: it costs time when many give way, and never a result."""
        why = swap_refusal(Path(settings.SWAP_FOLDER)) if settings.SWAP_FOLDER else ""
        self._swapless[deployment] = why
        if why:
            log.error("host.no_swap_files", deployment=deployment, reason=why)
        return "" if why else settings.SWAP_FOLDER

    def unload(self, deployment: str) -> None:
        """Stop an engine that may not serve."""
        self._loops.pop(deployment).stop(drain=False, timeout=STOP_SECONDS)

    def facts(self, deployment: str) -> tuple[str, bool]:
        """Fingerprint, and whether its results claim batch invariance."""
        loaded = self._loops[deployment].engine
        return loaded.fingerprint, loaded.batch_invariant

    def trace(self, deployment: str, seconds: float) -> bytes:
        """What an engine did in its last seconds, for `pictures`. Raises `WorkerRefused` where none is kept."""
        trace = self._loops[deployment].engine.trace
        if trace is None:
            raise WorkerRefused("it keeps no trace (ENGINE_TRACE is off)")
        return trace_file.packed(trace, seconds)

    def begin(self, work: Work, landed: Callable[[Flight], None]) -> None:
        """Plan a job's items and submit what they need. `landed` is called once, on a thread of the engine's.

        Raises `ReferenceUnusable` when the job's reference cannot be used: then nothing was submitted.
        """
        loop = self._loops[work.claimed.deployment]
        flight = Flight(work, landed, tokenizer=loop.engine.tokenizer)
        flight.plans = self._plan(work, loop.engine)
        for _item, plan in flight.plans:
            for request in () if isinstance(plan, str) else plan.requests:
                flight.requests.setdefault(request, len(flight.requests))
        self._flights[work.claimed.job_id] = flight
        for request, place in flight.requests.items():
            self._submit(loop, flight, request, place)
        if not flight.requests and flight.abandon():
            landed(flight)

    def forget(self, job_id: int) -> None:
        """Drop what is kept of a job that has ended."""
        self._flights.pop(job_id, None)

    def cancel(self, job_id: int) -> bool:
        """Stop computing a job. True when that ended it: `landed` will not be called."""
        flight = self._flights.get(job_id)
        if flight is None or not flight.abandon():
            return False
        loop = self._loops[flight.work.claimed.deployment]
        for handle in list(flight.handles):
            loop.cancel(handle)
        return True

    def reclass(self, job_id: int, rank: int, due: float) -> None:
        """Give what is left to compute of a job another class and due time; an engine hears of it after the layer that runs."""
        self._steer(job_id, lambda loop, handle: loop.reclass(handle, _class(rank), due))

    def hold(self, job_id: int) -> None:
        """Let a job rest, with what is computed of it, until it is released or cancelled."""
        self._rest(job_id, rests=True)
        self._steer(job_id, lambda loop, handle: loop.hold(handle))

    def release(self, job_id: int) -> None:
        """Let a job on hold go on."""
        self._steer(job_id, lambda loop, handle: loop.release(handle))
        self._rest(job_id, rests=False)

    def _rest(self, job_id: int, *, rests: bool) -> None:
        flight = self._flights.get(job_id)
        if flight is not None:
            flight.rests = rests

    def _steer(self, job_id: int, ask: Callable[[EngineLoop, int], object]) -> None:
        flight = self._flights.get(job_id)
        if flight is not None and not flight.over:
            loop = self._loops[flight.work.claimed.deployment]
            for handle in list(flight.handles):
                ask(loop, handle)

    def shifts(self) -> int:
        """A number that changes whenever something gives way to STAT."""
        policies = [loop.engine.scheduler for loop in list(self._loops.values())]
        return sum(policy.evictions + policy.freezes for policy in policies)

    def whereabouts(self) -> dict[int, tuple[Claimed, Whereabouts]]:
        """Every job in work, by its id."""
        found = {}
        loops = dict(self._loops)
        forecasts = {deployment: loop.forecasts() for deployment, loop in loops.items()}
        for job, flight in list(self._flights.items()):
            claimed = flight.work.claimed
            if claimed.deployment in loops and not flight.over:
                found[job] = (claimed, whereabouts(flight, loops[claimed.deployment], forecasts[claimed.deployment]))
        return found

    def progress(self) -> int | None:
        """A counter that moves while engines compute; None while none has work, or all of it is on hold. While one of them hangs it
        stands still: its jobs must not be kept because the others compute.
        """
        stats = [loop.stats() for loop in list(self._loops.values())]
        flights = list(self._flights.values())
        if not any(s["queued"] for s in stats) or (flights and all(flight.rests or flight.over for flight in flights)):
            return None
        if not self.complaint():
            self._moved = int(sum(s["steps"] for s in stats))
        return self._moved

    def healthy(self) -> bool:
        """Whether every engine runs."""
        return all(loop.healthy for loop in list(self._loops.values()))

    def complaint(self) -> str:
        """Why an engine is not ready: it has failed, or its step does not end; blank: all are."""
        complaints = {name: loop.complaint for name, loop in list(self._loops.items())}
        return "; ".join(f"{name}: {complaint}" for name, complaint in complaints.items() if complaint)

    def stats(self) -> dict[str, Any]:
        """Sums over the engines, what is wrong with one, and every figure of each (`engine.metrics` explains them)."""
        engines = {name: loop.stats() for name, loop in list(self._loops.items())}
        sums = {key: sum(found[key] for found in engines.values()) for key in ("running", "waiting", "tokens_per_second", "tokens")}
        took = {name: self._load_seconds[name] for name in engines if name in self._load_seconds}
        swapless = {name: why for name, why in self._swapless.items() if why and name in engines}
        takes = {name: _takes(loop.engine) for name, loop in list(self._loops.items())}
        said = {"complaint": self.complaint(), "engines": engines, "load_seconds": took, "swapless": swapless, "takes": takes}
        return {**sums, **said}

    def stop(self) -> None:
        """Stop every engine at once."""
        for deployment in list(self._loops):
            self.unload(deployment)

    def _submit(self, loop: EngineLoop, flight: Flight, request: engine.Request, place: int) -> None:
        claimed = flight.work.claimed
        handle = loop.submit(
            request, priority=_class(claimed.rank), due=claimed.due, on_outcome=lambda outcome: flight.arrive(place, outcome)
        )
        flight.handles.append(handle)
        if flight.over:  # cancelled while it was being submitted
            loop.cancel(handle)

    def _plan(self, work: Work, loaded: engine.Engine) -> list[tuple[WorkItem, Plan | str]]:
        makers = {"variant": self._variants, "track": self._variants, "sequence": self._sequences}
        planner = makers.get(work.kind, self._asked)(work, loaded)
        return [(item, _planned(planner, item)) for item in work.items]

    def _variants(self, work: Work, loaded: engine.Engine) -> Callable[[WorkItem], Plan]:
        protocol = engine.Protocol(**cast(dict[str, Any], work.protocol))
        reference = sequences.opened(work.reference_path, work.reference_digest, work.contig_digests, work.reference_look)

        def plan(item: WorkItem) -> Plan:
            if item.contig not in reference.lengths:
                raise engine.UnknownContig
            length, end = reference.lengths[item.contig], item.end or None
            variant = engine.Variant(length, item.position, item.ref, item.alt, end)
            return engine.plan_variant(protocol, variant, partial(reference.fetch, item.contig), loaded.tokenizer)

        return plan

    def _sequences(self, work: Work, loaded: engine.Engine) -> Callable[[WorkItem], Plan]:
        return lambda item: engine.plan_sequence(item.sequence, loaded.tokenizer, context=loaded.context)

    def _asked(self, work: Work, loaded: engine.Engine) -> Callable[[WorkItem], Plan]:
        """Of a question, whose settings stand in its protocol."""
        return lambda item: engine.plan_question(
            work.kind, work.protocol, item.sequence, loaded.tokenizer, context=loaded.context, seed=work.seed
        )


def pictures(trace: bytes, seconds: float, title: str) -> dict[str, str]:
    """A trace that `Host.trace` gave away, by the ending of a file: for Perfetto, and as a picture."""
    read = trace_file.unpacked(trace)
    about = f"the last {seconds:g} s"
    return {".json": perfetto.chrome(read, f"{title}, {about}", seconds), ".svg": timeline.draw(read, title, about, seconds)}


def whereabouts(flight: Flight, loop: EngineLoop | None, forecasts: Mapping[int, Forecast]) -> Whereabouts:
    """Where a job is, made from its requests; without a loop all of them have ended."""
    outcomes, now = dict(flight.outcomes), clock.now().timestamp()
    parts = [_part(one.started_at, one.finished_at, one.interruptions) for one in outcomes.values()]
    open_ones = [] if loop is None else [h for place, h in enumerate(list(flight.handles)) if place not in outcomes]
    states = set()
    for handle in open_ones:
        one = loop.whereabouts(handle) if loop is not None else None
        if one is not None:
            states.add(one.state)
            parts.append(_part(one.started_at, None, one.interruptions))
    began = min((part.began for part in parts if part.began is not None), default=None)
    state = next((name for name in ("running", "paused") if name in states), "waiting")
    return _foretold(Whereabouts(cast(State, state), began, pauses_of(parts, now)), [forecasts.get(h) for h in open_ones])


def _foretold(found: Whereabouts, told: Sequence[Forecast | None]) -> Whereabouts:
    """With the end of the last of its requests, where the engine foresees all of them."""
    known = [one for one in told if one is not None]
    if not known or len(known) < len(told):
        return found
    ahead = None if found.state == "running" else min(one.ahead for one in known)
    return replace(found, low=max(one.earliest for one in known), high=max(one.latest for one in known), ahead=ahead)


def _takes(loaded: engine.Engine) -> dict[str, int | None]:
    """How long a sequence may be: tokens, of which some stand before every one, and the bases of a token (None: they differ)."""
    tokenizer = loaded.tokenizer
    return {"context": loaded.context, "before": len(tokenizer.before), "token_bases": tokenizer.width}


def _part(began: float | None, ended: float | None, stops: Iterable[engine.Interruption]) -> Part:
    return Part(began, ended, [Pause(stop.how, stop.since, stop.until) for stop in stops])


def _planned(planner: Callable[[WorkItem], Plan], item: WorkItem) -> Plan | str:
    try:
        return planner(item)
    except ITEM_FAULTS as error:
        return _code(error.code)


def _class(rank: int) -> engine.Priority:
    return engine.Priority(min(rank, engine.Priority.ROUTINE))


def _code(name: str) -> str:
    """The reason code of what the engine says about an item."""
    return "item." + name.replace("_", "-")
