"""The life of a check of the audit chain."""

from foundation.machine import Machine

CHECK = Machine(
    table="oversight_check",
    initial=frozenset({"waiting"}),
    edges={
        "waiting": frozenset({"running", "failed"}),
        "running": frozenset({"good", "incomplete", "broken", "failed"}),
    },
)
