"""The life of an order that another system asked for by FHIR, until it is an order of ours."""

from foundation.machine import Machine

FHIR_ORDER = Machine(
    table="interop_fhirorder",
    initial=frozenset({"waiting"}),
    edges={
        "waiting": frozenset({"placed", "parked", "closed"}),
        "parked": frozenset({"waiting", "closed"}),  # waiting again: a person chose the sample of its file
    },
)
