"""A run of an order is pinned for good; another run on the same items is another run beside it, and moves no order."""

from uuid import uuid4

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from engine_queue import cutting, settling
from engine_queue.models import Result, Run, RunKind
from orders.models import Order
from registry.services import offer_test
from reports import release
from reports.models import ReportVersion
from tests.engine_queue.rows import scored, taken
from tests.factories import make_order
from tests.reports.cases import analyst, copied, drafted, scored_order

pytestmark = pytest.mark.django_db

KINDS = {"clinical", "repeat", "rescore", "shadow", "sentinel", "question"}  # PLATFORM, “Order, run, job”
BESIDE = {"background", "track"}  # of nobody's order, below all of them


def beside(first: Run, kind: str = "rescore") -> Run:
    """Another run on the very items of the first."""
    kept = ("organisation_id", "order_id", "item_set", "test_version", "model_version", "deployment", "precision", "protocol",
            "reference_digest", "seed", "rank", "due_at", "items_total", "created_at")  # fmt: skip
    made = Run.objects.create(kind=kind, supersedes=first, **{name: getattr(first, name) for name in kept})
    cutting.cut(made, cutting.AHEAD)
    return made


def test_a_run_is_of_a_kind_that_is_known_and_what_nobody_ordered_is_of_no_order() -> None:
    assert set(RunKind.values) == KINDS | BESIDE
    first = Run.objects.get(order_id=make_order().pk)
    for kind in sorted(BESIDE):
        with pytest.raises(IntegrityError, match="run_beside_orders_waits_for_them"), transaction.atomic():
            beside(first, kind)
    first.order_id = None
    assert beside(first, "question").order_id is None
    first.rank = 4
    assert {beside(first, kind).order_id for kind in BESIDE} == {None}


def test_what_a_run_was_accepted_with_is_pinned() -> None:
    run, other = (Run.objects.get(order_id=make_order().pk) for _ in range(2))
    changes = {
        "kind": "repeat", "precision": "bf16", "protocol": "{}", "reference_digest": "x", "seed": 1, "items_total": 99,
        "order_id": other.order_id, "item_set_id": other.item_set_id, "test_version_id": other.test_version_id,
        "model_version_id": uuid4(), "deployment_id": "other", "supersedes_id": other.pk,
    }  # fmt: skip
    for column, value in changes.items():
        with pytest.raises(IntegrityError, match="is pinned"), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(**{column: value})


def test_a_newer_version_of_the_test_changes_no_run_that_was_accepted() -> None:
    order = make_order()
    run, test = Run.objects.get(order_id=order.pk), order.test_version
    kept = {name: getattr(test, name) for name in ("accepts", "reference", "deployment", "sla_minutes")}
    laboratory, protocol = test.definition.laboratory, {**test.protocol, "window": 128}
    offer_test(laboratory=laboratory, code=test.definition.code, name="", protocol=protocol, **kept)
    run.refresh_from_db()
    order.refresh_from_db()
    assert (run.test_version, run.protocol["window"], order.test_version) == (test, 64, test)


def settled(run: Run) -> None:
    while run.jobs.filter(state="queued").exists():
        settling.settle(scored(taken()))


def test_a_rerun_has_results_of_its_own_and_neither_counts_nor_moves_the_order() -> None:
    order = make_order(variants=30)
    first = Run.objects.get(order_id=order.pk)
    settled(first)
    order.refresh_from_db()
    before = {name: getattr(order, name) for name in ("state", "version", "items_done", "attention", "scored_at")}
    kept = list(first.results.order_by("id").values_list("id", "attempt", "delta"))
    for number, kind in enumerate(sorted(KINDS - {"clinical"}), start=1):
        again = beside(first, kind)
        settled(again)
        assert (Run.objects.get(pk=again.pk).state, again.results.count(), Result.objects.count()) == (
            "scored",
            30,
            30 + 30 * number,
        )
        assert set(again.jobs.values_list("attempt", flat=True)) == {1}
    order.refresh_from_db()
    assert {name: getattr(order, name) for name in before} == before
    assert list(first.results.order_by("id").values_list("id", "attempt", "delta")) == kept


def test_a_report_version_has_one_run_and_keeps_it() -> None:
    order = scored_order()
    version = drafted(order)
    column = ReportVersion._meta.get_field("run")
    assert column.many_to_one and not column.null
    other = beside(version.run)
    with pytest.raises(IntegrityError), transaction.atomic():
        ReportVersion.objects.create(**copied(version, number=2, run=None))
    with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
        ReportVersion.objects.filter(pk=version.pk).update(run=other)
    assert release.run_to_show(analyst(order), Order.objects.get(pk=order.pk)) == version.run
