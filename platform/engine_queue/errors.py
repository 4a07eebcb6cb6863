"""What the queue and its workers refuse or report.

QueueError
├── WorkerRefused        this process cannot serve; its one line says why
│   ├── NameTaken        another process holds the worker name
│   ├── NothingToServe   no deployment is left that this worker may serve
│   └── BitsDiffer       this machine computes other bits than a deployment is pinned to
├── ErrandRefused        what a person asked of a worker cannot be asked of it
├── JobNotWaiting        this job waits for no person
├── OutcomeRefused       results that do not fit the job they were computed for: a bug of ours
└── ReferenceUnusable    the reference of a run cannot be read, or is no longer what it was
"""

from foundation.errors import HelicaseError


class QueueError(HelicaseError):
    """The engine queue could not do what was asked."""


class WorkerRefused(QueueError):
    """This worker cannot serve."""


class NameTaken(WorkerRefused):
    """Another process holds this worker name."""

    permanent = False


class NothingToServe(WorkerRefused):
    """No deployment is left that this worker may serve."""


class BitsDiffer(WorkerRefused):
    """This machine computes other bits than the deployment is pinned to."""


class ErrandRefused(QueueError):
    """This cannot be asked of that worker."""


class JobNotWaiting(QueueError):
    """This job waits for no person."""


class OutcomeRefused(QueueError):
    """The results do not fit the job they were computed for."""


class ReferenceUnusable(QueueError):
    """The reference sequences of this run cannot be used."""
