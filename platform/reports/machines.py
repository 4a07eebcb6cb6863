"""The life of a report version."""

from foundation.machine import Machine

REPORT = Machine(
    table="reports_reportversion",
    initial=frozenset({"draft"}),
    edges={
        "draft": frozenset({"released", "discarded"}),
        "released": frozenset({"superseded", "entered_in_error"}),
    },
)
