"""The life of an audit report."""

from foundation.machine import Machine

AUDIT_REPORT = Machine(
    table="inspection_auditreport",
    initial=frozenset({"queued"}),
    edges={
        "queued": frozenset({"running", "withdrawn"}),
        "running": frozenset({"made", "failed", "queued", "withdrawn"}),  # back: its worker died
    },
)
