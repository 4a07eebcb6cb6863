"""Links in a model folder: those of a download's cache are followed, and said; any other that leads out of the folder is refused.

A folder that was cloned may link to any file of this machine: what that holds would be digested, copied and, under the name of
the card, shown. Only the caches of Hugging Face are made of links, from `snapshots/<revision>` to `blobs`. The engine has the same
rule for what it reads.
"""

import os
from pathlib import Path

from registry.errors import RegistrationRefused


def is_file(path: Path) -> bool:
    """Whether a name in a folder is a regular file. `RegistrationRefused` for a link to nowhere or to what is not the folder's."""
    if path.is_symlink():
        target = Path(os.path.realpath(path))
        if not target.exists():
            raise _refused(path, "is a link that leads nowhere; fetch the folder again")
        if not _owns(Path(os.path.realpath(path.parent)), target):
            raise _refused(path, f"is a link out of the folder, to {target}; copy the files themselves, as cp -L does")
    return path.is_file()


def require_file(path: Path) -> Path:
    """The same path. `RegistrationRefused` where it is no regular file, too: what may change a result is never passed over."""
    if not is_file(path):
        raise _refused(path, "cannot be read: it is no regular file")
    return path


def _owns(folder: Path, target: Path) -> bool:
    """Both without links in their paths."""
    return target.is_relative_to(folder) or (folder.parent.name == "snapshots" and target.parent == folder.parent.parent / "blobs")


def _refused(path: Path, what: str) -> RegistrationRefused:
    return RegistrationRefused(f"{path.name} {what}", code="model.folder")
