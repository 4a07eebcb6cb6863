"""Two people register the same bytes at once: one row, one copy, and a sentence for the one whose name came second."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from registry import model_folders, reference_admission, services
from registry.errors import RegistrationRefused
from registry.models import ModelVersion, Reference
from registry.registering import UNATTENDED


def _registered(name: str) -> str:
    try:
        return str(services.register_model(name=name, version="1", folder="tiny"))
    except RegistrationRefused as refusal:
        return str(refusal).partition(" as ")[0]
    finally:
        connection.close()


@pytest.mark.parametrize(("other", "said"), [("tiny", {"tiny 1"}), ("else", {"these bytes are registered"})])
def test_a_model_registered_twice_at_once_is_one_row(
    clone_db: str, folder: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch, other: str, said: set[str]
) -> None:
    model_folders.place(model_folders.read(folder), below=models_dir, called="tiny")
    both, create = Barrier(2), services._new_model  # both have looked before either writes

    def create_together(*values: object) -> ModelVersion:
        both.wait(20)
        return create(*values)  # type: ignore[arg-type]

    monkeypatch.setattr(services, "_new_model", create_together)
    with ThreadPoolExecutor(2) as threads:
        found = set(threads.map(_registered, ["tiny", other]))
    assert found == said | {str(ModelVersion.objects.get(folder="tiny"))}


def test_one_folder_copied_twice_at_once_is_one_copy(folder: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, settle = Barrier(2), model_folders._settle  # both have copied before either copy gets its name

    def settle_together(*values: object) -> None:
        both.wait(20)
        settle(*values)  # type: ignore[arg-type]

    monkeypatch.setattr(model_folders, "_settle", settle_together)
    found = model_folders.read(folder)
    with ThreadPoolExecutor(2) as threads:
        places = list(threads.map(lambda _: model_folders.place(found, below=models_dir, called="tiny"), range(2)))
    assert places == ["tiny", "tiny"]
    assert [path.name for path in models_dir.iterdir()] == ["tiny"]
    assert model_folders.read(models_dir / "tiny").digest == found.digest


@pytest.mark.parametrize(("other", "said"), [("one", {"one"}), ("else", {"one or else", "these sequences are registered"})])
def test_a_reference_registered_twice_at_once_is_one_row(
    clone_db: str, tmp_path: Path, settings: Any, other: str, said: set[str]
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    source, both = tmp_path / "one.fa", Barrier(2)
    source.write_text(">one\n" + "ACGTTGCAAC" * 20 + "\n")

    def together(contig: str, length: int) -> list[str]:
        """Other names of a contig; asked for when both have looked and neither has written."""
        both.wait(20)
        return []

    def registered(name: str) -> str:
        try:
            return reference_admission.admit(source, name=name, description="", names=together, actor=UNATTENDED)[0].name
        except RegistrationRefused as refusal:
            return str(refusal).partition(" as ")[0]
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        found = set(threads.map(registered, ["one", other]))
    kept = Reference.objects.get().name
    assert found == (said - {"one or else"}) | {kept}
    assert sorted(path.suffix for path in (tmp_path / "data" / "references").iterdir()) == [".fai", ".gz", ".gzi"]
