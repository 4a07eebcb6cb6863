"""The proof at start, once for each deployment and configuration: tests of the command line start the same engine a hundred times.

What was found is what every later start claims. Tests of the proof itself, and of engines that must fail it, do without.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from engine import selftest
from engine.config import EngineConfig
from engine.limits import Limits

Proof = Callable[[selftest.Runs, EngineConfig, Limits], tuple[bool, str]]
_found: dict[tuple[EngineConfig, Limits], tuple[bool, str]] = {}


def once(prove: Proof, runner: selftest.Runs, config: EngineConfig, limits: Limits) -> tuple[bool, str]:
    """As `prove`, remembered. The fingerprint in the limits stands for all that decides bits."""
    if not limits.fingerprint:
        return prove(runner, config, limits)
    if (config, limits) not in _found:
        _found[config, limits] = prove(runner, config, limits)
    return _found[config, limits]


@pytest.fixture
def proven_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For `pytest.mark.usefixtures`."""
    monkeypatch.setattr(selftest, "run", functools.partial(once, selftest.run))
