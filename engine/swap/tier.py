"""The files' thread: writes and reads what it is asked for, one after the other, and says when each has ended."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from engine.errors import ConfigRefused
from engine.swap import folder
from engine.swap.content import Done, Failure
from engine.swap.files import Format, SwapFileError

if TYPE_CHECKING:
    from engine.swap.arena import Bytes

log = logging.getLogger(__name__)


class FileTier:
    """Files of one engine, `cap` bytes at most together, in a folder of this worker below `root`. `memory` is the arena's.

    One thread calls all but `wake`. Raises ConfigRefused where the folder cannot be used.
    """

    def __init__(self, root: Path, memory: Bytes, fingerprint: str, *, cap: int, encrypted: bool) -> None:
        try:
            self._folder = folder.claim(root)
        except OSError as error:
            raise ConfigRefused(f"swap_folder {root} cannot be used: {error.strerror}") from error
        self._format, self._cap = Format(memory, fingerprint, encrypted=encrypted), cap
        self._lengths: dict[int, int] = {}  # of files that are there, or about to be
        self._size, self._lock = 0, threading.Lock()  # `_size` is changed on both threads
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._done: deque[Done] = deque()
        self._stirred = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="engine-swap", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """The folder of this worker."""
        return self._folder.path

    @property
    def count(self) -> int:
        """Files there are, or are about to be."""
        return len(self._lengths)

    @property
    def size(self) -> int:
        """Bytes on the disk, or about to be."""
        return self._size

    def file(self, number: int) -> Path:
        """Where content lies."""
        return self.path / f"{number}.swap"

    def write(self, number: int, slots: Sequence[int]) -> bool:
        """See `content.Files`."""
        length = self._format.length(len(slots))
        with self._lock:
            if self._size + length > self._cap:
                return False
            self._size += length
        self._lengths[number] = length
        self._jobs.put(lambda: self._try(number, lambda: self._format.write(self.file(number), number, slots)))
        return True

    def read(self, number: int, slots: Sequence[int]) -> None:
        """See `content.Files`."""
        self._jobs.put(lambda: self._try(number, lambda: self._format.read(self.file(number), number, slots)))

    def drop(self, number: int) -> None:
        """See `content.Files`."""
        length = self._lengths.pop(number, None)
        if length is not None:
            self._jobs.put(lambda: self._remove(number, length))

    def finished(self) -> list[Done]:
        """See `content.Files`."""
        found = []
        while self._done:
            found.append(self._done.popleft())
        return found

    def wait(self, seconds: float) -> None:
        """Until something has ended, somebody calls `wake`, or the time is over."""
        self._stirred.wait(seconds)
        self._stirred.clear()

    def settle(self, seconds: float) -> None:
        """Until all that was asked before has ended, or the time is over."""
        ended = threading.Event()
        self._jobs.put(ended.set)
        ended.wait(seconds)

    def wake(self) -> None:
        """End a `wait`, from any thread."""
        self._stirred.set()

    def close(self, timeout: float) -> None:
        """End the thread and empty the folder; a disk that does not answer in time keeps both."""
        self._jobs.put(None)
        self._thread.join(timeout)
        if not self._thread.is_alive():
            with contextlib.suppress(OSError):
                self._folder.release()

    # The thread.

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _try(self, number: int, job: Callable[[], None]) -> None:
        failure = None
        try:
            job()
        except SwapFileError as error:
            failure = error.failure
            log.warning("swap file %d: %s", number, error, extra={"event": "swap_file"})
        except Exception:  # process edge: the thread must live, and whoever waits for it must hear
            failure = Failure.REFUSED
            log.exception("swap file %d", number, extra={"event": "swap_file"})
        self._done.append(Done(number, failure))
        self._stirred.set()

    def _remove(self, number: int, length: int) -> None:
        with contextlib.suppress(OSError):
            self.file(number).unlink(missing_ok=True)
        with self._lock:
            self._size -= length
