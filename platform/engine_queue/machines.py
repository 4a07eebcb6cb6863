"""The states of runs and jobs."""

from foundation.machine import Machine

RUN = Machine(
    table="engine_queue_run",
    initial=frozenset({"queued"}),
    edges={
        "queued": frozenset({"running", "cancelled"}),
        "running": frozenset({"scored", "cancelled"}),
    },
)

# A job that waits for a person is still `queued` or `running` here: needs-attention is a flag beside the state.
JOB = Machine(
    table="engine_queue_job",
    initial=frozenset({"queued"}),
    edges={
        "queued": frozenset({"running", "cancelled"}),
        "running": frozenset({"queued", "succeeded", "cancelled"}),
    },
)
