"""Admit a model folder: hash it, refuse what contradicts the registry, load it for real, put it in its place, keep the row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts.roles import Verb
from foundation.actor import Actor
from registry import annotation_admission, inspecting, leftovers, model_folders, pins, reference_admission, registering, services
from registry.errors import RegistrationRefused
from registry.model_folders import ModelFolder
from registry.models import Inspection, ModelVersion

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Admitted:
    """The row, what the inspection found, and what an operator should hear."""

    model_version: ModelVersion
    inspection: Inspection
    notes: tuple[str, ...]


def admit(path: Path, *, name: str, version: str, pin: Mapping[str, Any], actor: Actor) -> Admitted:
    """Register the model folder at `path`, loaded under the settings of `pin`.

    Raises `NotPermitted` before anything is read, `RegistrationRefused` or `PinRefused`, in one sentence, with nothing left behind
    but, at most, a proven copy.
    """
    registering.require(actor, Verb.REGISTER)
    pins.require(pin)
    for word, limit in ((name, 80), (version, 40)):
        if not _NAME.fullmatch(word) or len(word) > limit:
            raise RegistrationRefused(f"{word!r} is no name: letters, digits, dot, dash, underscore, at most {limit}")
    folder = model_folders.read(path)
    services.known_model(name=name, version=version, found=folder)  # refuses what need not be loaded to be refused
    found = inspecting.inspect(folder.path, pin)
    root = Path(settings.MODELS_DIR)
    place = model_folders.place(folder, below=root, called=f"{name}-{version}")
    with transaction.atomic():
        row = services.register_model(name=name, version=version, folder=place, actor=actor)
        if row.digest != folder.digest:
            raise RegistrationRefused("the folder changed while it was inspected; register it again", code="model.changed")
        return Admitted(row, services.inspected(row, found), tuple(_notes(row, folder, place, found)))


def sweep() -> int:
    """Take away what registrations of models, references and annotations left when they were killed; how many copies."""
    data = Path(settings.DATA_DIR)
    folders = (Path(settings.MODELS_DIR), data / reference_admission.FOLDER, data / annotation_admission.FOLDER)
    return sum(leftovers.sweep(folder) for folder in folders if folder.is_dir())


def _notes(row: ModelVersion, folder: ModelFolder, place: str, found: Mapping[str, Any]) -> list[str]:
    notes = []
    if not folder.card_name:
        notes.append("it has no model card (CARD.md or README.md): nothing says what it was made for")
    elif row.card_sha256 != folder.card_sha256:
        notes.append("its card differs from the one that is kept with this version")
    if folder.links:
        notes.append(f"{len(folder.links)} of its files are links, as in the cache of a download: what they lead to was digested")
    if row.folder != place:
        notes.append(f"it is served from {row.folder}")
    if not found["batch_invariant"]:
        notes.append("its bits depend on the batch here: no result will claim otherwise")
    return notes
