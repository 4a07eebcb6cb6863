"""The schema of models, references, annotations and errands can be taken back, and brought forward again."""

import os
import subprocess
import sys

import pytest

from tests.services import ROOT

BACK = [("orders", "0002"), ("engine_queue", "0002"), ("registry", "0002")]


def migrate(*target: str) -> None:
    command = [sys.executable, "manage.py", "migrate", *target, "--database", "owner", "--no-input", "-v", "0"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.flow
def test_they_go_back_and_forward(clone_db: str) -> None:
    for app, name in BACK:
        migrate(app, name)
    migrate()
