"""Fixtures of the registry's tests."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from registry import inspecting
from tests.registry.folders import folder, original

__all__ = ["folder", "models_dir", "original"]
_found: dict[tuple[str, str, str], dict[str, Any]] = {}


@pytest.fixture
def models_dir(tmp_path: Path, settings: Any) -> Path:
    """An empty MODELS_DIR."""
    path = tmp_path / "models"
    path.mkdir()
    settings.MODELS_DIR = path
    return path


@pytest.fixture
def inspected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what comes after an inspection, which is a process of seconds: equal bytes under equal settings have one."""
    inspect = inspecting.inspect

    def once(folder: Path, pin: Mapping[str, Any]) -> dict[str, Any]:
        digest = hashlib.sha256()
        for path in sorted(path for path in folder.iterdir() if path.is_file()):
            digest.update(path.name.encode() + path.read_bytes())
        key = folder.name, digest.hexdigest(), json.dumps(dict(pin), sort_keys=True)
        if key not in _found:
            _found[key] = inspect(folder, pin)
        return dict(_found[key])

    monkeypatch.setattr(inspecting, "inspect", once)
