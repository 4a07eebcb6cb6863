"""Which deployment a result came from: everything that may change a bit, in one digest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Deployment:
    """The pin. Two results with equal fingerprints were computed by the same bits in the same way."""

    model: str  # folder name, for people; not part of the digest
    backend: str
    kernel_set: str
    precision: str
    isa: str
    threads: int
    weights_sha256: str
    config_sha256: str
    tokenizer_sha256: str
    engine_version: str

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hex, of all fields but the name."""
        fields = {key: value for key, value in dataclasses.asdict(self).items() if key != "model"}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    def as_dict(self) -> dict[str, str | int]:
        """For storage: the fields and the fingerprint."""
        return {**dataclasses.asdict(self), "fingerprint": self.fingerprint}


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 over names and contents of files, in the order given."""
    total = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                content.update(piece)
        total.update(f"{path.name} {content.hexdigest()}\n".encode())
    return total.hexdigest()
