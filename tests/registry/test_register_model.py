"""`register_model`: a folder is really loaded, hashed file by file, and becomes one row that nobody changes."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, connection, transaction

from registry import admission, model_folders, services
from registry.errors import RegistrationRefused
from registry.models import Deployment, Inspection, ModelVersion
from registry.registering import UNATTENDED
from tests.factories import by

pytestmark = pytest.mark.django_db


def register(folder: Path, *options: str) -> str:
    out = StringIO()
    call_command("register_model", str(folder), *by(), *options, stdout=out)
    return out.getvalue()


def refused(folder: Path, *options: str) -> str:
    with pytest.raises(CommandError) as error:
        register(folder, *options)
    assert error.value.returncode == 2
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_folder_from_elsewhere_is_loaded_copied_and_made_a_deployment(folder: Path, models_dir: Path) -> None:
    said = register(folder, "--deployment", "tiny-bf16", "--precision", "bf16", "--threads", "1")
    row, made = ModelVersion.objects.get(name="tiny"), Deployment.objects.get(name="tiny-bf16")
    assert (row.name, row.version, row.folder) == ("tiny", "1.0", "tiny-1.0")
    assert sorted(path.name for path in models_dir.glob("*/*")) == ["README.md", "config.json", "model.safetensors", "vocab.json"]
    assert [file["name"] for file in row.files] == ["config.json", "model.safetensors", "vocab.json"]
    assert (row.card, made.precision) == ("# tiny\nRandom weights.\n", "bf16")
    assert made.pin == {"threads": 1, "precision": "bf16"}
    assert "LlamaForCausalLM" in said and row.inspections.get().golden in said


def test_registering_the_same_bytes_again_gives_the_same_row(folder: Path, models_dir: Path) -> None:
    first = admission.admit(folder, name="tiny", version="1.0", pin={"threads": 1}, actor=UNATTENDED)
    again = admission.admit(models_dir / "tiny-1.0", name="tiny", version="1.0", pin={"threads": 1}, actor=UNATTENDED)
    assert again.model_version == first.model_version
    assert again.inspection == first.inspection  # the same bits, proven a second time
    assert Inspection.objects.count() == 1


@pytest.mark.usefixtures("inspected_once")
def test_other_bytes_under_the_same_name_and_version_are_refused_before_they_are_loaded(
    folder: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "rope_theta": 500_000.0}))
    monkeypatch.setattr("registry.inspecting.inspect", lambda folder, pin: pytest.fail("it was loaded"))
    assert refused(folder) == "tiny 1.0 is registered with other bytes; give these another --model-version"


@pytest.mark.usefixtures("inspected_once")
def test_the_same_bytes_under_another_name_are_refused(folder: Path, models_dir: Path) -> None:
    register(folder)
    assert "these bytes are registered as tiny 1.0" in refused(folder, "--name", "other")
    assert [path.name for path in models_dir.iterdir()] == ["tiny-1.0"]


def test_what_the_engine_cannot_run_is_refused_with_its_own_sentence(folder: Path, models_dir: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["StripedHyenaModelForCausalLM"]}))
    assert "StripedHyena" in refused(folder)
    assert list(models_dir.iterdir()) == []
    assert not ModelVersion.objects.filter(name="tiny").exists()


def test_weights_that_are_no_numbers_are_refused(folder: Path, models_dir: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4096])
    assert refused(folder).startswith("the model cannot be registered: ")


@pytest.mark.parametrize("word", ["", "../up", "a b", "x" * 81], ids=["blank", "path", "space", "long"])
def test_names_that_are_no_names_are_refused(folder: Path, models_dir: Path, word: str) -> None:
    with pytest.raises(RegistrationRefused, match="is no name"):
        admission.admit(folder, name=word, version="1.0", pin={}, actor=UNATTENDED)


def test_a_folder_without_weights_we_read_is_refused(folder: Path, models_dir: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert refused(folder) == "tiny holds no safetensors weights; other formats are not read"
    assert refused(folder / "nowhere") == f"there is no model folder {folder / 'nowhere'}"


@pytest.mark.usefixtures("inspected_once")
def test_another_folder_in_its_place_is_not_overwritten(folder: Path, models_dir: Path) -> None:
    (models_dir / "tiny-1.0").mkdir()
    (models_dir / "tiny-1.0" / "model.safetensors").write_bytes(b"other")
    assert "holds other bytes" in refused(folder)


@pytest.mark.usefixtures("inspected_once")
def test_a_deployment_name_stands_for_one_thing(folder: Path, models_dir: Path) -> None:
    register(folder, "--deployment", "tiny")
    assert "choose another name" in refused(folder, "--deployment", "tiny", "--threads", "1")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE registry_modelversion SET digest = 'x'",
        "UPDATE registry_modelversion SET files = '[]'",
        "UPDATE registry_modelversion SET card = 'x'",
        "DELETE FROM registry_modelversion",
        "DELETE FROM registry_inspection",
    ],
)
def test_the_database_refuses_to_change_what_was_registered(sql: str) -> None:
    row = services.register_model(name="ecoli-orf-2k", version="1.0", folder="ecoli-orf-2k")
    services.inspected(row, {"fingerprint": "f", "golden": "g"})
    with pytest.raises((IntegrityError, ProgrammingError)), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_place_that_the_registry_cannot_keep_is_refused_before_anything_is_copied(folder: Path, models_dir: Path) -> None:
    with pytest.raises(RegistrationRefused, match="is longer than 120 characters"):
        model_folders.place(model_folders.read(folder), below=models_dir, called=f"{'n' * 80}-{'1' * 40}")
    assert list(models_dir.iterdir()) == []
