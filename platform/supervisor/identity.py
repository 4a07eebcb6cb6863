"""Under which user the embedded Postgres runs, and whether that user can reach a path: Postgres refuses to run as root."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

# the number every Linux distribution gives to `nobody`, for a container whose /etc/passwd lacks the name
NOBODY = 65534


class PopenIdentity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Identity:
    """The user and group a service runs under."""

    uid: int
    gid: int
    dropped: bool  # False: the service runs as whoever started us

    @property
    def popen_arguments(self) -> PopenIdentity:
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.dropped else {}

    def can_enter(self, folder: Path) -> bool:
        """Whether this user may walk down to `folder`; mode bits only, so an ACL that forbids more is found at start."""
        if not self.dropped:
            return True
        folder = folder.resolve()
        return all(self._may_search(part) for part in (folder, *folder.parents))

    def _may_search(self, folder: Path) -> bool:
        status = folder.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)

    def own(self, path: Path, *, mode: int) -> None:
        """Hand `path` to this user with exactly `mode`."""
        if self.dropped:
            os.chown(path, self.uid, self.gid)
        path.chmod(mode)


def service_identity() -> Identity:
    """`nobody` when we are root, else ourselves."""
    if os.geteuid() != 0:
        return Identity(uid=os.geteuid(), gid=os.getegid(), dropped=False)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return Identity(uid=NOBODY, gid=NOBODY, dropped=True)
    return Identity(uid=nobody.pw_uid, gid=nobody.pw_gid, dropped=True)
