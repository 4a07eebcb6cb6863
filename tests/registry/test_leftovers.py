"""What killed registrations leave is swept by the next one, or at the next start, never from under one that still writes."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from registry import admission, annotation_admission, leftovers, model_folders
from registry.errors import RegistrationRefused
from registry.models import Reference
from tests.factories import by
from tests.registry import genes
from tests.services import ROOT

WRITES = """
import sys, time
from pathlib import Path
from registry import leftovers
with leftovers.registering(Path(sys.argv[1])):
    for ending in (".fa.gz", ".fa.gz.fai", "-tiny-1.0"):
        left = leftovers.unfinished(Path(sys.argv[1]), ending)
        left.touch() if "fa" in ending else left.mkdir()
    print("writing", flush=True)
    time.sleep(600)
"""


@contextmanager
def registration(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process in the midst of its copy."""
    command = [sys.executable, "-c", WRITES, str(folder)]
    process = subprocess.Popen(command, env={"PYTHONPATH": str(ROOT / "platform")}, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert next(line for line in process.stdout if b"registry.swept" not in line) == b"writing\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".") and path.name != ".cache"]


def killed(folder: Path) -> None:
    """A registration that was ended in the midst of its copy, by a signal that nothing can be done about."""
    with registration(folder) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    assert len(hidden(folder)) == 3


def test_what_is_being_written_is_left_and_what_was_killed_goes(tmp_path: Path) -> None:
    (tmp_path / ".cache").mkdir()
    killed(tmp_path)
    with registration(tmp_path) as other:  # its own start has swept what was there
        assert len(hidden(tmp_path)) == 3
        assert leftovers.sweep(tmp_path) == 0
        with leftovers.registering(tmp_path):
            assert len(hidden(tmp_path)) == 3
        other.kill()
        other.wait(10)
        assert leftovers.sweep(tmp_path) == 3
    assert [path.name for path in tmp_path.iterdir()] == [".cache"]


def test_a_folder_that_cannot_be_used_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RegistrationRefused, match=r"file cannot be used \(File exists\)"), leftovers.registering(tmp_path / "file"):
        pass


@pytest.mark.django_db
def test_each_kind_of_registration_sweeps_its_folder_and_a_start_all_of_them(
    tmp_path: Path, settings: Any, folder: Path, models_dir: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    folders = (models_dir, settings.DATA_DIR / "references", settings.DATA_DIR / "annotations")
    for each in folders:
        each.mkdir(parents=True, exist_ok=True)
        killed(each)
    model_folders.place(model_folders.read(folder), below=models_dir, called="tiny")
    (tmp_path / "one.fa").write_text(f">one\n{genes.BASES}\n")
    (tmp_path / "one.gff3").write_text(genes.ensembl())
    call_command("register_reference", str(tmp_path / "one.fa"), "--name", "tiny", *by(), stdout=StringIO())
    annotation_admission.admit(tmp_path / "one.gff3", name="genes", reference=Reference.objects.get())
    assert [hidden(each) for each in folders] == [[], [], []]
    for each in folders:
        killed(each)
    assert admission.sweep() == 9
