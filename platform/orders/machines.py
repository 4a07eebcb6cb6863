"""The life of an order, an intake, a specimen, a manifest with its rows, a request to hold, an identity check, a merge, a downtime.

Hold and needs-attention are flags beside the state."""

from foundation.machine import Machine

IN_ERROR = "entered_in_error"  # it was for the wrong patient, whatever had become of it

ORDER = Machine(
    table="orders_order",
    initial=frozenset({"draft", "submitted"}),
    edges={
        "draft": frozenset({"submitted", "cancelled"}),
        "submitted": frozenset({"accepted", "rejected", "cancelled", IN_ERROR}),
        "accepted": frozenset({"in_analysis", "cancelled", IN_ERROR}),
        "in_analysis": frozenset({"awaiting_review", "cancelled", IN_ERROR}),
        "awaiting_review": frozenset({"awaiting_second_review", "reported", "in_analysis", "cancelled", IN_ERROR}),
        # Back: what the first signature stood under was taken back, or says what is no longer so.
        "awaiting_second_review": frozenset({"reported", "awaiting_review", "in_analysis", "cancelled", IN_ERROR}),
        "reported": frozenset({IN_ERROR}),
    },
)

HOLD_REQUEST = Machine(
    table="orders_holdrequest",
    initial=frozenset({"open"}),
    edges={"open": frozenset({"confirmed", "declined", "withdrawn", "expired", "void"})},  # void: what it asked for came otherwise
)

SPECIMEN = Machine(
    table="orders_specimen",
    initial=frozenset({"expected"}),
    edges={
        "expected": frozenset({"received", "rejected"}),  # rejected at once: it came, and nobody could use it
        # Back: what stood there was a mistake, and is kept as a row of its own.
        "received": frozenset({"rejected", "expected"}),
        "rejected": frozenset({"received", "expected"}),
    },
)

INTAKE = Machine(
    table="orders_intake",
    initial=frozenset({"waiting"}),
    edges={
        "waiting": frozenset({"checking", "withdrawn"}),
        # Back to waiting: the checking worker died, or makes room for other files.
        "checking": frozenset({"ready", "refused", "waiting", "withdrawn"}),
    },
)

MANIFEST = Machine(
    table="orders_manifest",
    initial=frozenset({"checking"}),
    edges={
        "checking": frozenset({"checked", "refused", "withdrawn"}),
        "checked": frozenset({"placing", "withdrawn"}),
        "placing": frozenset({"placed", "stopped"}),
        "stopped": frozenset({"placing"}),
    },
)

MANIFEST_ROW = Machine(
    table="orders_manifestrow",
    initial=frozenset({"pending"}),
    edges={
        "pending": frozenset({"valid", "invalid", "before"}),  # before: the same row was placed in an earlier manifest
        "valid": frozenset({"placed", "refused", "before"}),
    },
)

IDENTITY_CHECK = Machine(
    table="orders_identitycheck",
    initial=frozenset({"open"}),
    edges={"open": frozenset({"settled", "asked_again", "rejected", "void"})},  # void: the order ended otherwise
)

MERGE = Machine(table="orders_merge", initial=frozenset({"standing"}), edges={"standing": frozenset({"undone"})})

DOWNTIME = Machine(
    table="orders_downtime",
    initial=frozenset({"open"}),
    edges={"open": frozenset({"closed", "withdrawn"})},  # withdrawn: there was none
)
