"""The life of a validation record."""

from foundation.machine import Machine

VALIDATION = Machine(
    table="registry_validationrecord",
    initial=frozenset({"proposed"}),
    edges={
        "proposed": frozenset({"approved", "declined"}),
        "approved": frozenset({"suspended"}),  # for good: what holds again is proposed again
    },
)
