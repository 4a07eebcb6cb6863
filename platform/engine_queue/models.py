"""Work for the engine. An item set is what is scored, a run is one scoring of it, a job is the slice one worker holds."""

import uuid
from typing import cast
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from foundation.scoping import ScopedManager
from registry.models import Deployment, ModelVersion, Reference, TestVersion

OPEN = ["queued", "running"]


class ItemSet(models.Model):
    """A frozen list of variants or sequences. Runs share it: a rescore scores the very same items."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField(db_index=True)
    kind = models.CharField(max_length=10)  # variant | track | sequence; of a question what is asked: score | continue | embed
    reference = models.ForeignKey(Reference, on_delete=models.PROTECT, null=True)
    count = models.PositiveIntegerField(default=0)
    frozen_at = models.DateTimeField(null=True)

    objects = ScopedManager()


class Item(models.Model):
    """One variant or one sequence, exactly as submitted. Staged by COPY."""

    id = models.BigAutoField(primary_key=True)
    item_set = models.ForeignKey(ItemSet, on_delete=models.CASCADE, related_name="items")
    ordinal = models.PositiveIntegerField()  # 0-based place in the set
    contig = models.CharField(max_length=255, blank=True)
    position = models.BigIntegerField(default=0)  # 1-based
    ref = models.TextField(blank=True)
    alt = models.TextField(blank=True)
    end_position = models.BigIntegerField(default=0, db_default=0)  # last base of a <DEL>, <DUP>, <INV>; 0: alleles are written
    name = models.TextField(blank=True)  # of a sequence
    sequence = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item_set", "ordinal"], name="one_item_per_place")]


class RunKind(models.TextChoices):
    """Why a run exists."""

    CLINICAL = "clinical"
    REPEAT = "repeat"
    RESCORE = "rescore"
    SHADOW = "shadow"
    SENTINEL = "sentinel"
    QUESTION = "question"
    BACKGROUND = "background"  # common variants of a region, for orders to be seen beside
    TRACK = "track"  # one variant of another run again, base by base


class Run(models.Model):
    """One scoring of one item set, pinned at acceptance. A rerun is a new run."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField(db_index=True)  # the performing laboratory
    order_id = models.UUIDField(null=True, db_index=True)  # the foreign key is added by `orders`, which stands above
    kind = models.CharField(max_length=10, choices=RunKind.choices)
    item_set = models.ForeignKey(ItemSet, on_delete=models.PROTECT)
    test_version = models.ForeignKey(TestVersion, on_delete=models.PROTECT, null=True)  # null: a question, which is no test
    model_version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT)
    deployment = models.ForeignKey(Deployment, on_delete=models.PROTECT)
    precision = models.CharField(max_length=20)
    protocol = models.JSONField()
    reference_digest = models.CharField(max_length=64)
    seed = models.BigIntegerField()
    supersedes = models.ForeignKey("self", on_delete=models.PROTECT, null=True)
    state = models.CharField(max_length=10, default="queued")
    version = models.PositiveIntegerField(default=1)
    rank = models.PositiveSmallIntegerField()  # of new jobs: 0 STAT … 3 routine
    held = models.BooleanField(default=False, db_default=False)  # on hold: nothing of it starts, what runs stands still
    due_at = models.DateTimeField()
    items_total = models.PositiveIntegerField()
    tokens = models.BigIntegerField(default=0, db_default=0)  # of all its items, nothing shared; 0: nobody has counted them
    items_cut = models.PositiveIntegerField(default=0)  # items already given to a job
    items_done = models.PositiveIntegerField(default=0)  # results committed
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    scored_at = models.DateTimeField(null=True)

    objects = ScopedManager()

    class Meta:
        indexes = [models.Index(fields=["state"], condition=Q(state__in=OPEN), name="run_open")]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=RunKind.values), name="run_kind_known"),
            models.CheckConstraint(  # what is asked is never STAT
                condition=Q(test_version__isnull=False) | Q(kind="question", order_id=None, rank__gt=0),
                name="run_of_a_test_or_question",
            ),
            models.CheckConstraint(
                condition=~Q(kind__in=["background", "track"]) | Q(order_id=None, rank=4), name="run_beside_orders_waits_for_them"
            ),
            models.CheckConstraint(
                condition=Q(items_done__lte=F("items_cut"), items_cut__lte=F("items_total")), name="run_counts_in_order"
            ),
        ]

    @property
    def audit_organisation_id(self) -> UUID:
        """Whose auditors see its events."""
        return self.organisation_id

    @property
    def test(self) -> TestVersion:
        """Of an order's run, which has one: the database sees to it."""
        return cast(TestVersion, self.test_version)


class Job(models.Model):
    """Items [first, last] of a run: what one worker claims, under a lease, as one attempt."""

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="jobs")
    organisation_id = models.UUIDField()
    deployment_name = models.CharField(max_length=80)
    format = models.PositiveSmallIntegerField(default=1)  # a worker leaves unknown formats queued
    first = models.PositiveIntegerField()
    last = models.PositiveIntegerField()
    state = models.CharField(max_length=10, default="queued")
    rank = models.PositiveSmallIntegerField()
    due_at = models.DateTimeField()
    attempt = models.PositiveIntegerField(default=0)  # fences: results of an older attempt are refused
    deaths = models.PositiveSmallIntegerField(default=0)  # attempts whose worker died holding it
    lease_owner = models.CharField(max_length=80, blank=True)  # worker incarnation
    lease_until = models.DateTimeField(null=True)
    task_id = models.CharField(max_length=64, blank=True)  # of the ticket that claimed it
    ticket_at = models.DateTimeField(null=True)  # last ticket sent
    tickets = models.PositiveIntegerField(default=0)
    held = models.BooleanField(default=False, db_default=False)  # as its run is
    cancel_requested = models.BooleanField(default=False)
    attention = models.CharField(max_length=60, blank=True)  # reason code: a person must look
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # What its worker says of it, once a second at most, and at once when it pauses or goes on.
    engine_state = models.CharField(max_length=10, blank=True, db_default="")  # waiting | running | paused; blank: not in an engine
    began_at = models.DateTimeField(null=True)  # when the engine began with it, after the claim
    finish_low = models.DateTimeField(null=True)  # when the engine expects to be done with it: between these two
    finish_high = models.DateTimeField(null=True)
    engine_ahead = models.PositiveIntegerField(null=True)  # requests that the engine takes before its next; null: one of it runs
    reported_at = models.DateTimeField(null=True)  # by the database's clock
    pauses = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))  # [{attempt, how, since, until}]

    objects = ScopedManager()

    class Meta:
        indexes = [
            models.Index(
                fields=["deployment_name", "rank", "due_at", "id"], condition=Q(state="queued", attention=""), name="job_claim"
            ),
            models.Index(fields=["lease_until"], condition=Q(state="running"), name="job_leases"),
            models.Index(fields=["deployment_name", "ended_at"], condition=Q(state="succeeded"), name="job_pace"),
            models.Index(fields=["deployment_name", "rank"], condition=Q(state__in=OPEN), name="job_open"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["run", "first"], name="one_job_per_slice"),
            models.CheckConstraint(condition=Q(first__lte=F("last")), name="job_slice_in_order"),
        ]


class Result(models.Model):
    """What the engine said about one item. Insert-only; once per run and item, fenced by the attempt."""

    id = models.BigAutoField(primary_key=True)
    organisation_id = models.UUIDField()
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="results")
    item = models.ForeignKey(Item, on_delete=models.PROTECT)
    job = models.ForeignKey(Job, on_delete=models.PROTECT)
    attempt = models.PositiveIntegerField()
    at_version = models.PositiveIntegerField()  # the order's (else the run's) version that this commit made
    ll_ref = models.FloatField(null=True)  # natural log-likelihood of the reference window (a sequence: null)
    ll_alt = models.FloatField(null=True)  # of the alternate window (a sequence: of the sequence)
    delta = models.FloatField(null=True)  # ll_alt − ll_ref
    tokens = models.PositiveIntegerField(default=0)
    bases = models.PositiveIntegerField(null=True)  # whose probability the sums hold; null: failed, or older than the column
    flags = ArrayField(models.CharField(max_length=60), default=list)  # reason codes
    failure = models.CharField(max_length=60, blank=True)  # reason code when the item could not be scored
    answer = models.JSONField(null=True)  # beyond sums: of a question (`engine.questions`), of a track (`engine.tracks`)
    fingerprint = models.CharField(max_length=64)
    batch_invariant = models.BooleanField()
    worker = models.CharField(max_length=80)
    created_at = models.DateTimeField()

    objects = ScopedManager()
    scope_verb = "view_unreleased"

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "item"], name="one_result_per_run_and_item"),
            models.CheckConstraint(
                condition=Q(failure="") & (Q(ll_alt__isnull=False) | Q(answer__isnull=False)) | (~Q(failure="") & Q(delta=None)),
                name="scored_or_failed",
            ),
        ]


class Worker(models.Model):
    """A worker name, held by a lease: two processes of one name would steal each other's messages."""

    name = models.CharField(primary_key=True, max_length=80)
    kind = models.CharField(max_length=10)  # engine | platform
    incarnation = models.CharField(max_length=80)
    host = models.CharField(max_length=120)
    pid = models.PositiveIntegerField()
    process = models.CharField(max_length=80, blank=True, default="", db_default="")  # boot and start, as the kernel counts them
    deployments = ArrayField(models.CharField(max_length=80), default=list)
    fingerprints = models.JSONField(default=dict)  # deployment → fingerprint
    stats = models.JSONField(default=dict)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()  # last renewal
    lease_until = models.DateTimeField()


class Errand(models.Model):
    """What a person asked of a worker that runs: to serve one more deployment, or to leave one after a drain."""

    id = models.BigAutoField(primary_key=True)
    worker = models.CharField(max_length=80)
    verb = models.CharField(max_length=10)  # load | unload | trace
    deployment = models.ForeignKey(Deployment, on_delete=models.PROTECT)
    drain_seconds = models.FloatField(default=0)  # of an unload: what still runs by then goes back to the queue
    state = models.CharField(max_length=10, default="asked")  # asked → taken → done | refused
    asked_by = models.CharField(max_length=120)
    asked_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    said = models.TextField(blank=True)  # why it was refused
    measured = models.JSONField(default=dict)  # seconds of each part, and jobs finished or given back
    trace_seconds = models.FloatField(default=0, db_default=0)  # of a trace: how much of the past
    trace = models.BinaryField(null=True)  # what the engine did: numbers of requests, no sequence and no name; of the newest only

    class Meta:
        indexes = [models.Index(fields=["worker", "id"], condition=Q(state__in=["asked", "taken"]), name="errand_open")]
        constraints = [
            models.CheckConstraint(condition=Q(verb__in=["load", "unload", "trace"]), name="errand_verb_known"),
            models.CheckConstraint(condition=Q(state__in=["asked", "taken", "done", "refused"]), name="errand_state_known"),
        ]


class Sweep(models.Model):
    """What the sweeper remembers from turn to turn. One row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    last_at = models.DateTimeField()  # end of the last turn; a long gap means that the database was away
    lenient_until = models.DateTimeField()  # no lease is judged before: its holder may not have been able to renew
    broker_epoch = models.CharField(max_length=32, blank=True)  # as written to the broker; gone there: the broker lost its memory
    broker_since = models.DateTimeField(null=True)  # tickets older than this are lost
    repairs = models.PositiveIntegerField(default=0)  # runs put right; each one is a bug of ours
