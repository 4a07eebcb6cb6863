"""What a deployment may pin: engine memory grows with these settings, and a digit too many must not take a machine down."""

from collections.abc import Mapping
from typing import Any

from foundation.errors import Refused

MOST = {"blocks": 2**20, "slots": 4096, "swap_blocks": 2**20}  # far beyond what a machine of today has memory and threads for


class PinRefused(Refused):
    """The deployment pins a setting beyond what any engine is given."""


def require(pin: Mapping[str, Any]) -> None:
    """Raise `PinRefused`, in one sentence, for a size beyond its bound, or for a folder; what else a pin may hold is the engine's
    to say.
    """
    if "swap_folder" in pin:
        raise PinRefused("where a worker swaps to is the worker's own setting, SWAP_FOLDER", code="deployment.pin")
    for name, most in MOST.items():
        size = pin.get(name)
        if isinstance(size, int | float) and size > most:
            raise PinRefused(f"{name} must be between 1 and {most:,}, not {size:,}", code="deployment.pin")
