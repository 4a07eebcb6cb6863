"""Two people register the same bytes at once: one row, and a sentence for the one whose name came second."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from django.db import connection

from registry import model_folders, services
from registry.errors import RegistrationRefused
from registry.models import ModelVersion


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
