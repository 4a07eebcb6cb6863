"""What a worker finds when it loads a model is compared with what was found when the model was registered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_queue import loading
from engine_queue.host import Bits, Host
from registry import admission, files
from registry.models import Deployment
from registry.registering import UNATTENDED
from registry.services import inspected, register_deployment
from tests.factories import make_test_version
from tests.registry.folders import folder, original

__all__ = ["folder", "original"]
pytestmark = pytest.mark.django_db
FOUND = {
    "fingerprint": "f" * 64, "golden": "g" * 64, "engine_version": "1", "weights_sha256": "w", "config_sha256": "c",
    "tokenizer_sha256": "t", "smoke_bases": 96, "smoke_log_likelihood": -132.5,
}  # fmt: skip


@pytest.fixture
def deployment() -> Deployment:
    return make_test_version().deployment


def agreed(deployment: Deployment, registered: dict[str, Any], loaded: dict[str, Any]) -> str:
    inspected(deployment.model_version, FOUND | registered)
    now = FOUND | loaded
    return loading.agree(deployment.name, Bits(now["fingerprint"], now["golden"], now), worker="engine-1")


@pytest.mark.parametrize(
    ("registered", "said"),
    [
        ({"weights_sha256": "other"}, "its folder no longer holds the weights that were registered as ecoli-orf-2k 1.0"),
        ({"config_sha256": "other"}, "no longer holds the settings"),
        ({"tokenizer_sha256": "other"}, "no longer holds the tokenizer files"),
        ({"golden": "0" * 64}, "golden bits gggggggggggg… and -132.5 nats, where 000000000000… and -132.5 were found"),
        ({"smoke_log_likelihood": -132.4}, "and -132.5 nats, where gggggggggggg… and -132.4 were found"),
    ],
    ids=["weights", "settings", "tokenizer", "golden", "smoke"],
)
def test_what_contradicts_the_inspection_is_refused_and_pins_nothing(
    deployment: Deployment, registered: dict[str, Any], said: str
) -> None:
    assert said in agreed(deployment, registered, {})
    deployment.refresh_from_db()
    assert deployment.fingerprint == deployment.golden == ""


@pytest.mark.parametrize(
    "registered",
    [
        {},
        {"fingerprint": "0" * 64, "golden": "0" * 64, "smoke_log_likelihood": -1.0},
        {"engine_version": "0", "weights_sha256": "other", "fingerprint": "0" * 64},
        {"smoke_bases": 50, "smoke_log_likelihood": -60.0},
    ],
    ids=["equal", "other-settings", "other-version", "other-length"],
)
def test_what_agrees_or_cannot_be_compared_is_served(deployment: Deployment, registered: dict[str, Any]) -> None:
    assert agreed(deployment, registered, {}) == ""
    deployment.refresh_from_db()
    assert deployment.golden == FOUND["golden"]


def test_golden_bits_of_a_pool_of_another_size_are_not_compared(deployment: Deployment) -> None:
    small = register_deployment(name="small", model_version=deployment.model_version, precision="fp32", pin={"blocks": 64})
    assert agreed(small, {"golden": "0" * 64}, {}) == ""


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.stop()


def test_a_real_engine_agrees_with_its_inspection(
    folder: Path, tmp_path: Path, settings: Any, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MKL_CBWR", "AVX2,STRICT")  # on Intel a worker asks for it before torch comes, which is long here
    settings.MODELS_DIR = tmp_path / "models"
    settings.MODELS_DIR.mkdir()
    admitted = admission.admit(folder, name="tiny", version="1", pin={"threads": 1}, actor=UNATTENDED)
    found = admitted.inspection.found
    bits = host.load("probe", files.weights(admitted.model_version), {"threads": 1})
    assert (bits.fingerprint, bits.golden) == (admitted.inspection.fingerprint, admitted.inspection.golden)
    assert {key: found[key] for key in bits.found if key != "model"} == {k: v for k, v in bits.found.items() if k != "model"}
    served = register_deployment(
        name="served", model_version=admitted.model_version, precision="fp32", pin={"threads": 1}, actor=UNATTENDED
    )
    loading.load(host, served, worker="engine-1")
    assert Deployment.objects.get(pk="served").golden == bits.golden
