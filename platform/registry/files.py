"""Where the files behind registry rows lie."""

from pathlib import Path

from django.conf import settings

from registry.models import ModelVersion, Reference


def fasta(reference: Reference) -> Path:
    """The FASTA of a reference; its row holds a path below the project's folder."""
    return Path(settings.BASE_DIR) / reference.path


def annotation(reference: Reference) -> Path | None:
    """The gene table of a reference, where it has one."""
    return Path(settings.BASE_DIR) / reference.annotation_path if reference.annotation_path else None


def weights(model_version: ModelVersion) -> Path:
    """The folder of a model version: config, safetensors, vocabulary."""
    return Path(settings.MODELS_DIR) / model_version.folder
