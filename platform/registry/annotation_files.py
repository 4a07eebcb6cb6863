"""The file of an annotation is what was registered: proven when it is opened for a check, once for each state of the file."""

import zlib

from foundation.reasons import Reason
from registry import files, proofs
from registry.annotations import canonical
from registry.errors import FileChanged
from registry.models import Annotation


def require(annotation: Annotation) -> None:
    """Raises `FileChanged` unless the file of an annotation holds what was registered; of a row of before that is not known."""
    path = files.transcripts(annotation)
    try:
        holds = not annotation.form_sha256 or proofs.require(path, annotation.form_sha256, lambda: canonical.digest(path))
    except (OSError, ValueError, zlib.error):  # it cannot be read, or not through its index
        holds = False
    if not holds:
        raise FileChanged(Reason.ANNOTATION_CHANGED.words, code=str(Reason.ANNOTATION_CHANGED))
