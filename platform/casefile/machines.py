"""The life of a draft and of an attached file."""

from foundation.machine import Machine

DRAFT = Machine(
    table="casefile_draft",
    initial=frozenset({"open"}),
    edges={"open": frozenset({"placed", "discarded", "expired"})},
)

ATTACHMENT = Machine(
    table="casefile_attachment",
    initial=frozenset({"kept"}),
    edges={"kept": frozenset({"withdrawn"})},
)
