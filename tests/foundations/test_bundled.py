"""The model that comes with Helicase, in a new database and in one that knows what a former version bundled."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from config import bundled, demo
from engine_queue.models import Run
from registry import services
from registry.models import Deployment, ModelVersion, TestVersion
from tests.factories import make_test_version
from tests.services import ROOT

pytestmark = pytest.mark.django_db
FORMER = "ecoli-orf-6l"


def former(**pin: int) -> Deployment:
    """What the former version of Helicase registered at its start."""
    model = services.register_model(name=FORMER, version="1.0", folder=FORMER)
    return services.register_deployment(name=f"{FORMER}-fp32", model_version=model, precision="fp32", pin=pin or {"threads": 2})


def test_a_new_database_knows_the_bundled_model_alone() -> None:
    made = bundled.bundled_deployment()
    assert bundled.bundled_deployment() == made
    assert [str(model) for model in ModelVersion.objects.all()] == ["ecoli-orf-2k 1.0"]
    assert bundled.served() == [made.name] == ["ecoli-orf-2k-fp32"]


def test_an_older_demonstration_gets_new_versions_of_its_tests_and_keeps_what_was_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(demo, "bundled_deployment", former)
        demo.seed()
    old, run = TestVersion.objects.get(definition__code="isolate-panel"), Run.objects.get()
    bundled.bundled_deployment()
    assert demo.seed() == demo.seed() == {}
    assert set(ModelVersion.objects.values_list("name", flat=True)) == {FORMER, bundled.NAME}
    versions = TestVersion.objects.order_by("definition__code", "number").values_list("number", "offered", "deployment_id")
    assert list(versions) == [(1, False, f"{FORMER}-fp32"), (2, True, bundled.DEPLOYMENT)] * 4
    run.refresh_from_db()
    assert (Run.objects.count(), run.test_version, run.deployment_id) == (1, old, f"{FORMER}-fp32")
    assert bundled.served() == [bundled.DEPLOYMENT, f"{FORMER}-fp32"]  # the order is not finished
    Run.objects.update(state="cancelled")
    assert bundled.served() == [bundled.DEPLOYMENT]


def test_a_test_of_ones_own_on_the_former_model_stays_served_while_its_folder_is_there(settings: Any, tmp_path: Path) -> None:
    test = make_test_version()
    assert bundled.served() == [bundled.DEPLOYMENT]
    services.offer_test(
        laboratory=test.definition.laboratory, code="own", name="Own", accepts=["vcf"], reference=test.reference,
        deployment=former(), protocol=test.protocol, sla_minutes=test.sla_minutes,
    )  # fmt: skip
    assert bundled.served() == [bundled.DEPLOYMENT, f"{FORMER}-fp32"]
    settings.MODELS_DIR = tmp_path
    assert bundled.served() == [bundled.DEPLOYMENT]


def test_what_a_person_registered_before_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = services.register_deployment(
        name="theirs", model_version=ModelVersion.objects.get(), precision="fp32", pin={"threads": 1}
    )
    monkeypatch.setattr(bundled, "VERSION", "2.0")
    monkeypatch.setattr(bundled, "DEPLOYMENT", "theirs")
    assert bundled.bundled_deployment() == theirs
    assert ModelVersion.objects.get().version == "1.0"


def test_a_models_folder_elsewhere_gets_a_copy(settings: Any, tmp_path: Path) -> None:
    settings.MODELS_DIR = tmp_path
    bundled.bundled_deployment()
    copy, ours = tmp_path / bundled.NAME / "model.safetensors", ROOT / "models" / bundled.NAME / "model.safetensors"
    assert copy.read_bytes() == ours.read_bytes()


def test_a_worker_that_is_told_nothing_to_serve_says_so() -> None:
    with pytest.raises(CommandError, match="name what to serve: --deployment NAME, or --bundled") as refused:
        call_command("engine_worker", "--name", "engine-1")
    assert refused.value.returncode == 2
