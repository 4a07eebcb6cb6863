"""What the tests of the command line remember of a proof is that of the same deployment and configuration."""

from __future__ import annotations

import dataclasses

from engine import selftest
from engine.config import EngineConfig
from engine.limits import Limits
from tests.engine import proofs

ONE = Limits(11, 512, "the fingerprint of this test")


def test_a_proof_is_found_once_for_each_deployment_and_configuration() -> None:
    asked: list[tuple[EngineConfig, Limits]] = []

    def prove(_runner: selftest.Runs, config: EngineConfig, limits: Limits) -> tuple[bool, str]:
        asked.append((config, limits))
        return len(asked) % 2 == 0, str(len(asked))

    config, runner = EngineConfig(), object()
    starts = [
        (config, ONE),
        (dataclasses.replace(config, blocks=96), ONE),
        (config, dataclasses.replace(ONE, fingerprint="another fingerprint of this test")),
    ]
    for _ in range(2):
        found = [proofs.once(prove, runner, *start) for start in starts]  # type: ignore[arg-type]
        assert found == [(False, "1"), (True, "2"), (False, "3")]
    assert asked == starts


def test_without_a_fingerprint_nothing_is_remembered() -> None:
    answers = iter([(True, "1"), (False, "2")])
    config = EngineConfig()
    assert [proofs.once(lambda *_: next(answers), object(), config, Limits(11, 512)) for _ in range(2)] == [  # type: ignore[arg-type]
        (True, "1"),
        (False, "2"),
    ]
