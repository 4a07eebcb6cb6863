"""A model folder as the cache of `huggingface_hub` keeps it: every name of a snapshot is a link to a blob named by its content."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path


def cached(folder: Path, below: Path) -> Path:
    """The snapshot of a copy of the folder, in a repository of its own."""
    repository = below / "models--maker--model"
    snapshot, blobs = repository / "snapshots" / "0a1b2c", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for path in folder.iterdir():
        blob = blobs / hashlib.sha256(path.read_bytes()).hexdigest()
        shutil.copyfile(path, blob)
        (snapshot / path.name).symlink_to(Path("..", "..", "blobs", blob.name))
    return snapshot
