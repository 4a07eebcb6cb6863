"""The life of a call: somebody is told that a stream moved, sees to it, and says what it was."""

from foundation.machine import Machine

CALL = Machine(
    table="drift_call",
    initial=frozenset({"open"}),
    edges={"open": frozenset({"acknowledged", "closed"}), "acknowledged": frozenset({"closed"})},
)
