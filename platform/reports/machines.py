"""The life of a report version."""

from foundation.machine import Machine

REPORT = Machine(
    table="reports_reportversion",
    initial=frozenset({"draft"}),
    edges={
        "draft": frozenset({"released", "discarded", "entered_in_error"}),
        "released": frozenset({"superseded", "entered_in_error"}),
        "superseded": frozenset({"entered_in_error"}),  # it names the wrong patient as well
    },
)
