"""Figures that are already measured, kept in a file, so that a long evaluation that was stopped goes on where it was."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Figures = Any


class Finished:
    """Figures by name for one set of measured files; those of other files are forgotten. Without a path nothing is kept."""

    def __init__(self, path: Path | None, files: dict[str, str]) -> None:
        self._path = path
        stored = json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {}
        same = stored.get("files") == files
        self._state: dict[str, Any] = stored if same else {"files": files, "figures": {}, "seconds": 0.0, "processor_seconds": 0.0}

    def measure(self, name: str, measure: Callable[[], Figures]) -> Figures:
        """What `measure` returned, now or in an earlier run."""
        if name not in self._state["figures"]:
            begun, worked = time.monotonic(), time.process_time()
            self._state["figures"][name] = measure()
            self._state["seconds"] += time.monotonic() - begun
            self._state["processor_seconds"] += time.process_time() - worked
            if self._path:
                self._path.write_text(json.dumps(self._state), encoding="utf-8")
        return self._state["figures"][name]

    @property
    def spent(self) -> dict[str, int]:
        return {name: round(self._state[name]) for name in ("seconds", "processor_seconds")}
