"""Load a model folder in a process of its own, as a worker would, and hear what it found: the registry imports no engine."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from registry.errors import RegistrationRefused

ASKED = ("threads", "precision", "isa", "kernels")  # settings of a pin that decide bits and that the inspection takes


def inspect(folder: Path, pin: Mapping[str, Any]) -> dict[str, Any]:
    """What `python -m engine inspect` says of a folder under the settings of a pin.

    Raises `RegistrationRefused`, with the engine's own sentence, when the folder cannot be loaded, proven or scored.
    """
    asked = [text for name in ASKED if name in pin for text in (f"--{name}", str(pin[name]))]
    command = [sys.executable, "-m", "engine", "inspect", "--json", "--model", str(folder.resolve()), *asked]
    done = subprocess.run(command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False)  # noqa: S603 -- no shell
    if done.returncode:
        raise RegistrationRefused(f"the model cannot be registered: {_sentence(done)}", code="model.inspection")
    (found,) = json.loads(done.stdout)
    return dict(found)


def _sentence(done: "subprocess.CompletedProcess[str]") -> str:
    if done.returncode < 0:
        return f"its process was ended by signal {-done.returncode}, most likely for want of memory"
    lines = done.stderr.strip().splitlines()
    return lines[-1].removeprefix("engine: ").removeprefix("__main__.py: error: ") if lines else f"exit status {done.returncode}"
