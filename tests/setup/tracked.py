"""The files of the working tree as git sees them."""

import subprocess
from pathlib import Path

from tests.services import ROOT


def files(*options: str) -> list[Path]:
    """Relative paths of what `git ls-files` lists and the tree holds."""
    # a checkout of another user (a mounted folder in CI) is read all the same
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", *options]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]
