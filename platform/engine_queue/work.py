"""The nouns of an engine worker: a ticket, a claimed job, the score of an item, the outcome of an attempt."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from engine_queue.whereabouts import Whereabouts
from registry.proofs import UNSEEN, Look


@dataclass(frozen=True)
class Ticket:
    """A message from the broker, held until `settle` acknowledges it."""

    number: int  # ours; the "pid" by which Celery's revoke reaches it
    task_id: str
    stat: bool  # came through the STAT queue: claims STAT only
    settle: Callable[[], None]
    deployment: str = ""


@dataclass(frozen=True)
class Claimed:
    """A job this worker holds, as the claim found it."""

    job_id: int
    run_id: UUID
    attempt: int
    owner: str  # incarnation of the worker that holds the lease
    deployment: str
    rank: int
    first: int
    last: int
    deaths: int
    worker: str = ""  # printed name
    due: float = math.inf  # when its results are, in seconds since 1970

    @property
    def alone(self) -> bool:
        """Workers died with it twice: nothing else is put at risk beside it."""
        return self.deaths >= ALONE_AFTER


@dataclass(frozen=True)
class Held:
    """A job in work, and the ticket that led to it."""

    claimed: Claimed  # its rank and due time are those of its row now
    ticket: Ticket
    acknowledged: bool = False  # the ticket, before its job was written


ALONE_AFTER = 2  # deaths after which a job runs alone
ATTENTION_AFTER = 3  # deaths after which a person must look


@dataclass(frozen=True)
class WorkItem:
    """One item of a job, as the engine host needs it."""

    id: int
    ordinal: int
    contig: str
    position: int
    ref: str
    alt: str
    sequence: str
    end: int = 0  # last base of a symbolic event; 0: alleles are written out


@dataclass(frozen=True)
class Work:
    """Everything needed to score a claimed job, read at once, so that no later step asks the database."""

    claimed: Claimed
    kind: Literal["variant", "track", "sequence", "score", "continue", "embed"]  # the last three: of a question
    protocol: dict[str, object]
    reference_path: str
    reference_digest: str
    items: Sequence[WorkItem]
    contig_digests: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of each contig, where the registry knows them
    reference_look: Look = UNSEEN  # the file as it lies there now, and whether somebody has proven it
    seed: int = 0  # of its run, for what is drawn


@dataclass(frozen=True)
class ItemScore:
    """What becomes one Result row: a score, or a reason code in `failure`."""

    item_id: int
    ll_ref: float | None = None
    ll_alt: float | None = None
    delta: float | None = None
    tokens: int = 0
    flags: Sequence[str] = ()
    failure: str = ""
    bases: int | None = None  # whose probability the sums hold
    answer: Mapping[str, Any] | None = None  # to a question; of a track what the sums are made of


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended here. `scores` is asked for on the finisher's thread, not on the engine's."""

    claimed: Claimed
    kind: Literal["scored", "returned"]
    settle: Callable[[], None]  # acknowledge the ticket and free its place; called once it is written, or fenced
    scores: Callable[[], Sequence[ItemScore]] = field(default=tuple)
    fingerprint: str = ""
    batch_invariant: bool = False
    reason: str = ""  # why it was returned
    attention: str = ""  # reason code: a person must look before it runs again
    found: Whereabouts | None = None  # where the engine had it in the end
    resend: bool = True  # a returned job needs a new ticket, unless the broker gives the old one back
