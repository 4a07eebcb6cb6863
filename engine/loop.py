"""The engine's thread: takes requests from any thread, steps while there is work, sleeps when there is none, never dies unseen."""

from __future__ import annotations

import functools
import itertools
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from queue import SimpleQueue

from engine.engine import Engine
from engine.errors import EngineFailed, EngineStopped
from engine.request import Outcome, Priority, Request

log = logging.getLogger(__name__)

OnOutcome = Callable[[Outcome], None]
_RATE_SECONDS = 10.0  # span over which tokens per second are measured


class EngineLoop:
    """`submit`, `cancel` and `stats` may be called from any thread. Outcomes are delivered on a thread of their own, in order,
    so that a slow callback never holds up a step; a callback that raises is logged and the next one is served.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._handles = itertools.count(1)
        self._wake = threading.Condition()
        self._commands: deque[Callable[[], object]] = deque()
        self._callbacks: dict[int, tuple[OnOutcome, float]] = {}  # guarded by _wake
        self._deliveries: SimpleQueue[tuple[OnOutcome, Outcome] | None] = SimpleQueue()
        self._ending = False
        self._failure: EngineFailed | None = None
        self._counts: Counter[str] = Counter()
        self._recent: deque[tuple[float, int]] = deque()
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._courier = threading.Thread(target=self._deliver, name="engine-outcomes", daemon=True)

    @property
    def healthy(self) -> bool:
        """Whether the loop runs and can take requests."""
        return self._thread.is_alive() and self._failure is None and not self._ending

    def start(self) -> None:
        """Start the two threads; a loop starts once."""
        self._courier.start()
        self._thread.start()

    def submit(self, request: Request, *, priority: Priority, on_outcome: OnOutcome) -> int:
        """Queue a request and return its handle. `on_outcome` is called exactly once, whatever happens, refusals included.

        A loop that has ended calls it before `submit` returns.
        """
        handle, priority = next(self._handles), Priority(priority)
        queued_at = self.engine.clock()
        with self._wake:
            error = self._failure or (EngineStopped() if self._ending else None)
            if error is None:
                self._callbacks[handle] = (on_outcome, queued_at)
                self._commands.append(functools.partial(self.engine.submit, handle, request, priority, queued_at))
                self._wake.notify()
        if error is not None:
            self._call(on_outcome, self._ended(handle, queued_at, error))
        return handle

    def cancel(self, handle: int) -> bool:
        """Ask for cancellation; True when the request had not ended yet. Its outcome still says how it ended."""
        with self._wake:
            if handle not in self._callbacks:
                return False
            self._commands.append(functools.partial(self.engine.cancel, handle))
            self._wake.notify()
            return True

    def stop(self, *, drain: bool, timeout: float) -> bool:
        """End the loop; with `drain` after all its work, else at once with everything unfinished cancelled.

        Every callback is called before it returns True; False when `timeout` seconds were not enough.
        """
        deadline = time.monotonic() + timeout
        with self._wake:
            self._ending = True
            unserved = self._callbacks if self._thread.ident is None else {}
            if not drain:
                for handle in self._callbacks:
                    self._commands.append(functools.partial(self.engine.cancel, handle))
            self._wake.notify()
        for handle, (callback, queued_at) in unserved.items():  # nobody started the loop
            self._call(callback, self._ended(handle, queued_at, EngineStopped()))
        for thread in (self._thread, self._courier):
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        return not (self._thread.is_alive() or self._courier.is_alive())

    def stats(self) -> dict[str, float | int]:
        """Plain counters: those of the engine, tokens per second over the last seconds, and how many requests ended how."""
        cutoff = time.monotonic() - _RATE_SECONDS
        recent = [tokens for at, tokens in tuple(self._recent) if at >= cutoff]
        ended = {state: self._counts[state] for state in ("finished", "failed", "cancelled")}
        return {
            **self.engine.stats(),
            **ended,
            "tokens_per_second": sum(recent) / _RATE_SECONDS,
            "queued": len(self._callbacks),
            "healthy": int(self.healthy),
        }

    def _serve(self) -> None:
        try:
            while self._take_commands():
                before = self.engine.scheduler.tokens
                outcomes = self.engine.step()
                self._note(self.engine.scheduler.tokens - before)
                self._settle(outcomes)
        except Exception as error:  # process edge: the thread must not die unseen, whatever the fault
            log.critical("the engine loop failed", exc_info=error, extra={"event": "engine_failed"})
            self._fail(error)
        finally:
            self._deliveries.put(None)

    def _take_commands(self) -> bool:
        """Run what was asked for, sleeping while there is nothing to do; False when the loop shall end."""
        with self._wake:
            while not self._commands and not self.engine.scheduler.has_work:
                if self._ending:
                    return False
                self._wake.wait()
            commands, self._commands = self._commands, deque()
        for command in commands:
            command()
        return True

    def _settle(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            with self._wake:
                callback, _ = self._callbacks.pop(outcome.handle)
            self._counts[outcome.state] += 1
            self._deliveries.put((callback, outcome))

    def _note(self, tokens: int) -> None:
        now = time.monotonic()
        self._recent.append((now, tokens))
        while self._recent[0][0] < now - _RATE_SECONDS:
            self._recent.popleft()

    def _fail(self, error: Exception) -> None:
        with self._wake:
            self._failure = EngineFailed(f"the engine failed: {type(error).__name__}: {error}")
            orphans, self._callbacks = self._callbacks, {}
            for handle, (callback, queued_at) in orphans.items():
                self._counts["failed"] += 1
                self._deliveries.put((callback, self._ended(handle, queued_at, self._failure)))

    def _ended(self, handle: int, queued_at: float, error: EngineFailed | EngineStopped) -> Outcome:
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

    def _deliver(self) -> None:
        while (delivery := self._deliveries.get()) is not None:
            self._call(*delivery)

    def _call(self, callback: OnOutcome, outcome: Outcome) -> None:
        try:
            callback(outcome)
        except Exception:  # process edge: a callback is the caller's code
            log.exception("the callback of request %d raised", outcome.handle, extra={"event": "callback_failed"})
