"""Where the files behind registry rows lie."""

from pathlib import Path

from django.conf import settings

from registry.models import Annotation, ModelVersion, Reference

DATA = "data:"  # begins a path below DATA_DIR; others lie below the project's folder


def located(path: str) -> Path:
    """The file that a row names."""
    below_data = path.removeprefix(DATA)
    return Path(settings.BASE_DIR) / path if below_data == path else Path(settings.DATA_DIR) / below_data


def fasta(reference: Reference) -> Path:
    """The FASTA of a reference."""
    return located(reference.path)


def contig_digests(reference: Reference) -> dict[str, str]:
    """SHA-256 of each contig; empty where one has none, as in rows of before they were kept."""
    found = {contig["name"]: contig.get("sha256", "") for contig in reference.contigs}
    return found if all(found.values()) else {}


def transcripts(annotation: Annotation) -> Path:
    """The transcripts of an annotation, bgzip with an index."""
    return located(annotation.path)


def annotation(reference: Reference) -> Path | None:
    """The gene table of a reference, where it has one."""
    return Path(settings.BASE_DIR) / reference.annotation_path if reference.annotation_path else None


def weights(model_version: ModelVersion) -> Path:
    """The folder of a model version: config, safetensors, vocabulary."""
    return Path(settings.MODELS_DIR) / model_version.folder
