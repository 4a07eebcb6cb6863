"""The engine's thread: takes requests from any thread, steps while there is work, sleeps when there is none, never dies unseen."""

from __future__ import annotations

import functools
import itertools
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue

from engine.engine import Engine
from engine.errors import EngineError, EngineFailed, EngineStopped, InvalidRequest, described
from engine.forecast import Forecast
from engine.metrics import RequestMeter
from engine.observed import Whereabouts
from engine.request import Outcome, Priority, Request
from engine.turns import Turns
from engine.watchdog import Watchdog

log = logging.getLogger(__name__)

OnOutcome = Callable[[Outcome], None]
OnProgress = Callable[[int, int], None]  # positions computed, positions wanted
STEP_LIMIT = 15.0  # seconds; a step computes a few thousand tokens at most
CHECK_EVERY = 1024  # steps between two counts of the blocks
_RATE_SECONDS = 10.0  # span over which tokens per second are measured


@dataclass(slots=True)
class _Open:
    """A request that has not ended, as its caller knows it."""

    on_outcome: OnOutcome
    queued_at: float
    priority: Priority


@dataclass(slots=True)
class _Watched:
    """Whoever wants to hear how far a request is. `calling` keeps a slow listener from being called for every step it missed."""

    on_progress: OnProgress
    every: float
    due: float
    calling: bool = False


class EngineLoop:
    """Everything but `start` may be called from any thread. Outcomes and progress are delivered on a thread of their own, in order,
    so that a slow callback never holds up a step; a callback that raises is logged and the next one is served.

    Loops that share `turns` compute one step at a time, STAT first. A step longer than `step_limit` seconds of `monotonic` makes
    the loop not ready until it ends. Every `check_every` steps the blocks are counted: an engine whose accounts are wrong stops
    rather than serve wrong keys and values.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        step_limit: float = STEP_LIMIT,
        check_every: int = CHECK_EVERY,
        monotonic: Callable[[], float] = time.monotonic,
        turns: Turns | None = None,
    ) -> None:
        self.engine = engine
        self._seat = (turns or Turns()).seat(engine.interrupt)
        self._monotonic, self._check_every = monotonic, check_every
        self._handles = itertools.count(1)
        self._wake = threading.Condition()
        self._commands: deque[Callable[[], object]] = deque()
        self._open: dict[int, _Open] = {}  # guarded by _wake
        self._watched: dict[int, _Watched] = {}  # the engine thread's own
        self._deliveries: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._ending = self._hurries = False
        self._failure: EngineFailed | None = None
        self._meter = RequestMeter()
        self._callbacks_failed = 0
        self._recent: deque[tuple[float, int]] = deque()
        self._watchdog = Watchdog(step_limit, engine.doing, monotonic)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._courier = threading.Thread(target=self._deliver, name="engine-outcomes", daemon=True)
        self._guard = threading.Thread(target=self._watch, name="engine-watchdog", daemon=True)

    @property
    def healthy(self) -> bool:
        """Whether the loop runs and takes requests. Once false it stays so."""
        return self._thread.is_alive() and self._courier.is_alive() and self._failure is None and not self._ending

    @property
    def ready(self) -> bool:
        """Whether it is healthy and its step ends in time; true again when a late step has ended."""
        return not self.complaint

    @property
    def complaint(self) -> str:
        """Why it is not ready; blank: it is."""
        if self._failure is not None:
            return str(self._failure)
        return self._watchdog.complaint if self.healthy else "the engine loop does not run"

    def start(self) -> None:
        """Start the threads; a loop starts once."""
        self._courier.start()
        self._guard.start()
        self._thread.start()

    def submit(
        self,
        request: Request,
        *,
        priority: Priority,
        on_outcome: OnOutcome,
        on_progress: OnProgress | None = None,
        progress_every: float = 1.0,
        due: float = math.inf,
    ) -> int:
        """Queue a request and return its handle. `on_outcome` is called exactly once, whatever happens, refusals included.

        A loop that has ended calls it before `submit` returns. `on_progress` is called at most every `progress_every` seconds, and
        not any more once `on_outcome` has been.
        """
        handle, priority = next(self._handles), Priority(priority)
        queued_at, layers = self.engine.clock(), self.engine.layers
        watched = None if on_progress is None else _Watched(on_progress, progress_every, self._monotonic() + progress_every)
        with self._wake:
            error = self._failure or (EngineStopped() if self._ending else None)
            if error is None:
                self._open[handle] = _Open(on_outcome, queued_at, priority)
                self._order(functools.partial(self._place, handle, request, priority, queued_at, layers, due, watched))
                if priority == Priority.STAT:
                    self.engine.interrupt()
                    self._seat.urge()
        if error is not None:
            self._call(on_outcome, self._ended(handle, queued_at, error))
        return handle

    def cancel(self, handle: int) -> bool:
        """Ask for cancellation; True when the request had not ended yet. Its outcome still says how it ended."""
        return self._steer(handle, self.engine.cancel)

    def reclass(self, handle: int, priority: Priority, due: float | None = None) -> bool:
        """Ask for another class, and another `due` time; True when it had not ended yet. Both count from the next layer on."""
        layers = self.engine.layers
        with self._wake:
            one = self._open.get(handle)
            if one is None:
                return False
            one.priority = Priority(priority)
            self._order(functools.partial(self.engine.reclass, handle, one.priority, layers, due), steers=True)
            if one.priority is Priority.STAT:
                self._seat.urge()
            return True

    def hold(self, handle: int) -> bool:
        """Ask that a request rests until it is released; True when it had not ended yet. Its rows go when their pass has ended."""
        return self._steer(handle, self.engine.hold)

    def release(self, handle: int) -> bool:
        """Ask that a request on hold goes on; True when it had not ended yet."""
        return self._steer(handle, self.engine.release)

    def _steer(self, handle: int, command: Callable[[int], bool]) -> bool:
        with self._wake:
            if handle not in self._open:
                return False
            self._order(functools.partial(command, handle), steers=True)
            return True

    def _order(self, command: Callable[[], object], *, steers: bool = False) -> None:
        """Let the engine's thread run a command after the step, or when it `steers` between two of its layers; `_wake` is held."""
        self._commands.append(command)
        if steers:
            self.engine.interrupt(steers=True)
        self._wake.notify()

    def progress(self, handle: int) -> tuple[int, int] | None:
        """Positions computed and positions wanted; None for a request that has ended or has not been taken up yet."""
        return self.engine.scheduler.progress(handle)

    def whereabouts(self, handle: int) -> Whereabouts | None:
        """Where a request is and when it stood still; None for one that has ended or has not been taken up yet."""
        return self.engine.scheduler.whereabouts(handle)

    def forecasts(self) -> dict[int, Forecast]:
        """As `Engine.forecasts`; requests that have not been taken up yet are missing."""
        return self.engine.forecasts()

    def forget_cached(self, since: float = -math.inf, until: float = math.inf) -> None:
        """As `Engine.forget_cached`, before the next step; from any thread. Times are those of outcomes."""
        with self._wake:
            self._order(functools.partial(self.engine.forget_cached, since, until))

    def stop(self, *, drain: bool, timeout: float) -> bool:
        """End the loop; with `drain` after all its work, else at once with everything unfinished cancelled, as what is on hold is.

        Every callback is called before it returns True; False when `timeout` seconds were not enough.
        """
        deadline = time.monotonic() + timeout
        with self._wake:
            self._ending = True
            unserved, self._open = (self._open, {}) if self._thread.ident is None else ({}, self._open)
            if not drain:
                self._hurries = True
                for handle in self._open:
                    self._order(functools.partial(self.engine.cancel, handle), steers=True)
                self._seat.urge()
            self._wake.notify()
        if self._thread.ident is None:  # nobody started the loop, or it could not be started
            self._over.set()
            self._deliveries.put(None)
        for handle, one in unserved.items():
            self._call(one.on_outcome, self._ended(handle, one.queued_at, EngineStopped()))
        threads = [thread for thread in (self._thread, self._courier, self._guard) if thread is not threading.current_thread()]
        for thread in threads:  # all of them: whichever held the engine last would free its memory while the interpreter ends
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def stats(self) -> dict[str, float]:
        """Every figure of `engine.metrics`, by name."""
        cutoff = self._monotonic() - _RATE_SECONDS
        recent = [tokens for at, tokens in tuple(self._recent) if at >= cutoff]
        return {
            **self.engine.stats(),
            **self._meter.values(),
            "tokens_per_second": sum(recent) / _RATE_SECONDS,
            "queued": len(self._open),
            "callbacks_failed": self._callbacks_failed,
            "watchdog_trips": self._watchdog.trips,
            "healthy": int(self.healthy),
            "ready": int(self.ready),
        }

    # The engine's thread.

    def _serve(self) -> None:
        try:
            while self._has_work():
                self.engine.rest()
                with self._seat.turn(self._wants):
                    self._take_commands()
                    self._step()
        except BaseException as error:  # noqa: BLE001 — process edge: the thread must not die unseen, not even of SystemExit
            self._fail(error)
        finally:
            self._seat.leave()
            self._over.set()
            self._deliveries.put(None)
            self.engine.close()

    def _wants(self) -> Priority | None:
        """The class of the next step; None: there is none."""
        scheduler = self.engine.scheduler
        return (Priority.STAT if self._hurries else scheduler.most_urgent) if self._commands or scheduler.has_work else None

    def _has_work(self) -> bool:
        """Run what was asked for, sleeping while there is nothing to do; False when the loop shall end."""
        with self._wake:
            while not self._commands and not self.engine.scheduler.has_work:
                if self._ending and not self.engine.scheduler.on_hold:
                    return False
                if self._ending:  # what is on hold will not be released any more
                    self._commands.extend(functools.partial(self.engine.cancel, handle) for handle in self._open)
                else:
                    self._wake.wait()
        self._take_commands()
        return True

    def _take_commands(self) -> None:
        """Run what was asked for. A pass stops after its layer for what comes later, or for STAT of another engine."""
        with self._wake:
            commands, self._commands = self._commands, deque()
            self.engine.heard()
        for command in commands:
            command()
        if self._seat.contested:
            self.engine.interrupt()

    def _step(self) -> None:
        scheduler = self.engine.scheduler
        before = scheduler.tokens
        self._watchdog.begin(scheduler.steps + 1)
        try:
            outcomes = self.engine.step()
        finally:
            self._watchdog.end()
        self._note(scheduler.tokens - before)
        self._settle(outcomes)
        if self._watched:
            self._tell_progress()
        if scheduler.steps % self._check_every == 0:
            self.engine.check()

    def _place(
        self, handle: int, request: Request, priority: Priority, queued_at: float, layers: int, due: float, watched: _Watched | None
    ) -> None:
        """Hand a request to the engine. One that it cannot even read is refused and takes nobody along."""
        try:
            self.engine.submit(handle, request, priority, queued_at, layers, due)
        except EngineError:
            raise  # not this request's fault: the engine's accounts are wrong
        except Exception as error:  # process edge: a request is the caller's data
            log.exception("request %d could not be read", handle, extra={"event": "request_unreadable"})
            self.engine.cancel(handle)
            refusal = InvalidRequest(f"the request cannot be read: {described(error)}")
            self._settle([self._ended(handle, queued_at, refusal)])
            self.engine.check()
        else:
            if watched is not None:
                self._watched[handle] = watched

    def _settle(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            with self._wake:
                one = self._open.pop(outcome.handle, None)
            self._watched.pop(outcome.handle, None)
            if one is not None:  # else it has been told already
                self._meter.ended(one.priority, outcome)
                self._deliveries.put(functools.partial(self._call, one.on_outcome, outcome))

    def _tell_progress(self) -> None:
        now = self._monotonic()
        for handle, one in self._watched.items():
            if now >= one.due and not one.calling:
                found = self.progress(handle)
                if found is not None:
                    one.due, one.calling = now + one.every, True
                    self._deliveries.put(functools.partial(self._say_progress, handle, one, *found))

    def _note(self, tokens: int) -> None:
        now = self._monotonic()
        self._recent.append((now, tokens))
        while self._recent[0][0] < now - _RATE_SECONDS:
            self._recent.popleft()

    def _fail(self, error: BaseException) -> None:
        """Tell every open request; from here on nobody is let in."""
        with self._wake:
            failure = self._failure = EngineFailed(f"the engine failed: {described(error)}")
            orphans, self._open = self._open, {}
        try:
            log.critical("the engine loop failed: %s", self.engine.doing(), exc_info=error, extra={"event": "engine_failed"})
        finally:
            for handle, one in orphans.items():
                outcome = self._ended(handle, one.queued_at, failure)
                self._meter.ended(one.priority, outcome)
                self._deliveries.put(functools.partial(self._call, one.on_outcome, outcome))

    def _ended(self, handle: int, queued_at: float, error: EngineError) -> Outcome:
        return Outcome(
            handle=handle,
            state="failed",
            result=None,
            error=error,
            queued_at=queued_at,
            started_at=None,
            finished_at=self.engine.clock(),
            steps=0,
            fingerprint=self.engine.fingerprint,
            batch_invariant=self.engine.batch_invariant,
        )

    # Threads beside it.

    def _watch(self) -> None:
        while not self._over.wait(min(1.0, self._watchdog.limit / 4)):
            try:
                self._watchdog.look()
            except Exception:  # process edge: it looks at what another thread is changing
                log.exception("the watchdog could not look", extra={"event": "watchdog_failed"})

    def _deliver(self) -> None:
        while (delivery := self._deliveries.get()) is not None:
            delivery()

    def _say_progress(self, handle: int, one: _Watched, computed: int, wanted: int) -> None:
        try:
            one.on_progress(computed, wanted)
        except BaseException:  # noqa: BLE001 — process edge, as below
            self._callback_raised(handle)
        one.calling = False

    def _call(self, callback: OnOutcome, outcome: Outcome) -> None:
        try:
            callback(outcome)
        except BaseException:  # noqa: BLE001 — process edge: the caller's code; SystemExit would end the thread without a word
            self._callback_raised(outcome.handle)

    def _callback_raised(self, handle: int) -> None:
        self._callbacks_failed += 1
        log.exception("the callback of request %d raised", handle, extra={"event": "callback_failed"})
