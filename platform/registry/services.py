"""Register models, deployments, references and tests. Registering the same thing again gives the same row."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from accounts.models import Organisation
from foundation import clock
from registry import pins
from registry.models import Deployment, IntendedUse, ModelVersion, Reference, TestDefinition, TestVersion


def register_model(*, name: str, version: str, folder: str) -> ModelVersion:
    """A model folder below MODELS_DIR, pinned by the SHA-256 of its weights and its vocabulary."""
    path = Path(settings.MODELS_DIR) / folder
    made, _ = ModelVersion.objects.get_or_create(
        name=name,
        version=version,
        defaults={
            "folder": folder,
            "weights_sha256": _sha256(*sorted(path.glob("*.safetensors"))),
            "tokenizer_sha256": _sha256(path / "vocab.json"),
            "created_at": clock.now(),
        },
    )
    return made


def register_deployment(*, name: str, model_version: ModelVersion, precision: str, pin: Mapping[str, Any]) -> Deployment:
    """A model version with the engine settings that decide its bits. Raises `PinRefused` for sizes beyond any machine."""
    pins.require(pin)
    made, _ = Deployment.objects.get_or_create(
        name=name, defaults={"model_version": model_version, "precision": precision, "pin": dict(pin), "created_at": clock.now()}
    )
    return made


def register_reference(
    *, name: str, description: str, path: str, digest: str, contigs: Sequence[Mapping[str, Any]], annotation_path: str = ""
) -> Reference:
    """Reference sequences below the project's folder; `contigs` holds name, length and aliases of each."""
    made, _ = Reference.objects.get_or_create(
        digest=digest,
        defaults={
            "name": name,
            "description": description,
            "path": path,
            "annotation_path": annotation_path,
            "contigs": [dict(contig) for contig in contigs],
        },
    )
    return made


def offer_test(
    *,
    laboratory: Organisation,
    code: str,
    name: str,
    accepts: Sequence[str],
    reference: Reference,
    deployment: Deployment,
    protocol: Mapping[str, Any],
    sla_minutes: Mapping[str, Sequence[int]],
    intended_use: str = IntendedUse.DEMONSTRATION,
    limitations: str = "",
) -> TestVersion:
    """The first version of a test a laboratory offers."""
    definition, _ = TestDefinition.objects.get_or_create(laboratory=laboratory, code=code, defaults={"name": name})
    made, _ = TestVersion.objects.get_or_create(
        definition=definition,
        number=1,
        defaults={
            "accepts": list(accepts),
            "reference": reference,
            "deployment": deployment,
            "protocol": dict(protocol),
            "sla_minutes": {priority: list(minutes) for priority, minutes in sla_minutes.items()},
            "intended_use": intended_use,
            "limitations": limitations,
            "created_at": clock.now(),
        },
    )
    return made


def _sha256(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
