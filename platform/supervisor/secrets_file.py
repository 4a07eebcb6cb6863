"""The passwords and the key of one checkout, made up once and kept in a file that only its owner reads."""

import json
import os
import secrets
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from supervisor.errors import SetupError


@dataclass(frozen=True)
class Secrets:
    """Everything secret that `make up` invents."""

    database_superuser: str
    database_owner: str
    database_app: str
    redis: str
    django_key: str


def new_secrets() -> Secrets:
    # letters, digits, - and _ only: they need no escaping in a URL or in a configuration file
    return Secrets(**{field.name: secrets.token_urlsafe(32) for field in fields(Secrets)})


def load_or_create(path: Path) -> Secrets:
    """Read the file, or write it with new values; a file with other fields is refused, never overwritten."""
    try:
        return Secrets(**json.loads(path.read_text()))
    except FileNotFoundError:
        pass
    except (ValueError, TypeError) as problem:
        raise SetupError(f"{path} is damaged ({problem}): put it back from a backup, the database opens with no other") from problem
    made = new_secrets()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    handle = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(asdict(made), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    return made
