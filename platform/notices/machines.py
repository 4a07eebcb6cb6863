"""The life of a delivery by e-mail or webhook."""

from foundation.machine import Machine

DELIVERY = Machine(
    table="notices_delivery",
    initial=frozenset({"queued"}),
    edges={"queued": frozenset({"sent", "failed"}), "failed": frozenset({"queued"})},  # a person sends it again
)
