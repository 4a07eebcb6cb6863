"""Orders whose runs have results, without an engine: rows as a finisher would commit them."""

import math
from collections.abc import Callable
from datetime import date
from typing import Any

from accounts.models import Organisation, Site
from accounts.roles import Role
from accounts.services import actor_for
from engine_queue.cutting import cut
from engine_queue.models import Item, Job, Result, Run
from foundation import clock
from foundation.actor import Actor
from orders import checking, uploads
from orders.models import Intake, IntakeRecord, Order
from orders.requests import PatientDetails
from reports import services
from reports.models import ReportVersion
from tests.factories import make_order, make_ready_intake, make_test_version, make_user


def wave(n: int) -> float:
    """A Δ per ordinal: mostly below zero, some above, never round."""
    return math.sin(n * 1.7) * 4 - 1.5


def scored_order(
    *, variants: int = 10, delta: Callable[[int], float | None] = wave, finished: bool = True, time_zone: str = "", **changes: Any
) -> Order:
    """An order with a result for every item; a Δ of None is a failed one."""
    order = make_order(variants=variants, **changes)
    if time_zone:
        Site.objects.filter(organisation_id=order.performing_laboratory_id).update(time_zone=time_zone)
    run = run_of(order)
    Order.objects.filter(pk=order.pk).update(state="in_analysis", started_at=clock.now())
    Run.objects.filter(pk=run.pk).update(state="running")
    cut(run, run.items_total)  # more jobs than there are: all of it
    items = {item.ordinal: item for item in Item.objects.filter(item_set=run.item_set)}
    Result.objects.bulk_create(
        _result(run, job, items[n], delta(n)) for job in run.jobs.all() for n in range(job.first, job.last + 1)
    )
    Run.objects.filter(pk=run.pk).update(items_done=run.items_total)
    if finished:
        Run.objects.filter(pk=run.pk).update(state="scored", scored_at=clock.now())
        Order.objects.filter(pk=order.pk).update(state="awaiting_review", scored_at=clock.now(), items_done=run.items_total)
    return Order.objects.get(pk=order.pk)


def ordered_by(hospital: Organisation, **changes: Any) -> Order:
    """A scored order of one organisation, performed in another one's laboratory."""
    intake = make_ready_intake(organisation=hospital)
    return scored_order(intake=intake, **changes)


def patient(**changes: Any) -> PatientDetails:
    """A patient's details for the order form."""
    values = {"mrn": "MRN-77", "family_name": "Muster", "given_name": "Maria", "birth_date": date(1970, 1, 31), "sex": "female"}
    return PatientDetails(**{**values, **changes})


def read(order: Order) -> Order:
    """The order as it now stands in the database."""
    return Order.objects.get(pk=order.pk)


def copied(version: ReportVersion, **changes: Any) -> dict[str, Any]:
    """The columns of another version with the same content."""
    kept = (
        "order",
        "run",
        "ordering_organisation_id",
        "performing_laboratory_id",
        "kind",
        "number",
        "content",
        "content_sha256",
        "created_at",
    )
    return {**{name: getattr(version, name) for name in kept}, **changes}


def run_of(order: Order) -> Run:
    return Run.objects.get(order_id=order.pk)


def newest_run(order: Order) -> Run:
    return Run.objects.filter(order_id=order.pk).order_by("-created_at")[0]


def analyst(order: Order) -> Actor:
    return actor_for(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))


def drafted(order: Order) -> ReportVersion:
    return services.draft(order=order, run=run_of(order), actor=analyst(order))


def intake_with_exceptions(*, variants: int = 10, parked: int = 2, refused: int = 1) -> Intake:
    """A ready intake that keeps some records out, with their counts. An order on it is pinned to them."""
    intake = make_ready_intake(variants=variants)
    rows = [("parked", "vcf.alt-symbolic-deletion", "Symbolic deletion <DEL>: not scored in this version.")] * parked
    rows += [("refused", "vcf.ref-mismatch", "REF is A, but the reference has G at contig1:9.")] * refused
    IntakeRecord.objects.bulk_create(
        IntakeRecord(
            intake=intake, line=500 + n, alt_index=1, outcome=outcome, code=code, reason=reason, contig="contig1", position=9
        )
        for n, (outcome, code, reason) in enumerate(rows)
    )
    intake.counts = {**intake.counts, "parked": parked, "refused": refused}
    intake.save(update_fields=["counts"])
    return intake


def sequence_order(content: bytes, *, name: str) -> Order:
    """A scored order on the sequences of a file, through the real check of the input."""
    test = make_test_version(accepts=["fasta", "fastq"])
    laboratory = test.definition.laboratory
    actor = actor_for(make_user(role=Role.ANALYST, organisation=laboratory))
    intake = uploads.start_intake(
        actor=actor, test_version=test, ordering_organisation_id=laboratory.pk, chunks=[content], filename=name
    )
    checking.check_intake(intake.pk)
    return scored_order(intake=Intake.objects.get(pk=intake.pk))


def _result(run: Run, job: Job, item: Item, delta: float | None) -> Result:
    of_variant = delta is not None and not item.sequence  # a sequence has a log-likelihood and nothing to compare it with
    return Result(
        organisation_id=run.organisation_id,
        run=run,
        item=item,
        job=job,
        attempt=1,
        at_version=2,
        ll_ref=-88.125 - item.ordinal if of_variant else None,
        ll_alt=None if delta is None else -88.125 - item.ordinal + delta,
        delta=delta if of_variant else None,
        tokens=len(item.sequence) or 64,
        bases=None if delta is None else len(item.sequence) or 64,
        flags=[] if item.ordinal else ["window.cut-at-end"],
        failure="" if delta is not None else "engine.no-score",
        fingerprint="f" * 64,
        batch_invariant=True,
        worker="engine-1",
        created_at=clock.now(),
    )
