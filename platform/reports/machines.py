"""The life of a report version, of its delivery to one recipient, and of a critical result."""

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

DELIVERY = Machine(
    table="reports_reportdelivery",
    initial=frozenset({"queued"}),
    edges={
        "queued": frozenset({"sent", "failed", "opened"}),  # opened: he was quicker than the e-mail, or fetched it by FHIR
        "sent": frozenset({"opened"}),
        "failed": frozenset({"queued", "sent", "opened"}),  # sent again; told in another way; found by himself
        "opened": frozenset({"acknowledged"}),
    },
)

CRITICAL = Machine(
    table="reports_critical",
    initial=frozenset({"open"}),
    edges={"open": frozenset({"read_back"})},
)
