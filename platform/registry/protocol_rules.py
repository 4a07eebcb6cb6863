"""Whether a model can compute a protocol at all: asked when a test is offered, so that no order has to find out."""

from collections.abc import Mapping
from typing import Any

from registry.errors import RegistrationRefused
from registry.models import ModelVersion


def require_computable(protocol: Mapping[str, Any], model_version: ModelVersion) -> None:
    """Raises `RegistrationRefused` for settings that contradict each other or that this model cannot serve.

    The rules are those of `engine.protocols`, which nothing here may import; what the model is stands in its inspections. A model
    without one, as in an old row, is not judged.
    """
    kind, window, grid = protocol["kind"], protocol["window"], protocol.get("grid")
    if window < 2:
        raise _refused(f"a window holds at least 2 bases, not {window}")
    if (kind == "grid-centred") != (grid is not None):
        raise _refused("grid-centred needs a grid, and no other protocol takes one")
    if grid is not None and not 1 <= grid <= window // 2:
        raise _refused(f"the grid must be between 1 and half of the window of {window} bases, not {grid}")
    inspection = model_version.inspections.order_by("-pk").first()
    if inspection is not None:
        _require_of_model(kind, window, model_version, inspection.found)


def _require_of_model(kind: str, window: int, model: ModelVersion, found: Mapping[str, Any]) -> None:
    width, context = found.get("token_bases"), found.get("context")
    if width is None:
        if kind == "right-end":
            raise _refused(
                f"right-end needs tokens of one width, and those of {model} differ; centred and grid-centred can be offered"
            )
        return
    if window < width:
        raise _refused(f"a window of {window} bases holds no token of {model}, which have {width} bases each")
    if context is not None and window // width > context:
        raise _refused(f"a window of {window:,} bases is longer than {model} can read: {context:,} tokens, {width} bases each")


def _refused(said: str) -> RegistrationRefused:
    return RegistrationRefused(said, code="test.protocol")
