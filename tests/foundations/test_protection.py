"""What an order rests on stays as it was, and what the models promise the database refuses to break. As helicase_app."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction

from engine_queue.models import Item, ItemSet, Job, Result, Run
from tests import factories
from tests.forging import forging

pytestmark = pytest.mark.django_db

PINNED = {
    "an item's allele": "UPDATE engine_queue_item SET alt = 'T'",
    "an item": "DELETE FROM engine_queue_item",
    "a frozen set's size": "UPDATE engine_queue_itemset SET count = 1",
    "the freezing": "UPDATE engine_queue_itemset SET frozen_at = NULL",
    "a verdict": "UPDATE orders_intakerecord SET outcome = 'refused'",
    "a verdict's row": "DELETE FROM orders_intakerecord",
    "an intake's counts": "UPDATE orders_intake SET counts = '{}'",
    "an intake's sample": "UPDATE orders_intake SET sample = 'other'",
    "a run's protocol": "UPDATE engine_queue_run SET protocol = '{}'",
    "a run's seed": "UPDATE engine_queue_run SET seed = seed + 1",
    "a run's reference": "UPDATE engine_queue_run SET reference_digest = 'x'",
    "a run": "DELETE FROM engine_queue_run",
    "a job": "DELETE FROM engine_queue_job",
    "a job's slice": "UPDATE engine_queue_job SET last = last + 1",
    "a test's protocol": "UPDATE registry_testversion SET protocol = '{}'",
    "a test's intended use": "UPDATE registry_testversion SET intended_use = 'clinical'",
    "a reference's digest": "UPDATE registry_reference SET digest = 'x'",
    "a model's weights": "UPDATE registry_modelversion SET weights_sha256 = 'x'",
    "a deployment's pin": "UPDATE registry_deployment SET pin = '{}'",
    "a deployment": "DELETE FROM registry_deployment",
    "a specimen's label": "UPDATE orders_specimen SET identifier = 'WRONG'",
    "an item's place": "UPDATE engine_queue_item SET ordinal = ordinal + 100",
    "who placed an order": "UPDATE orders_order SET placed_by_id = NULL",
    "the bytes of its file": "UPDATE storage_storedfile SET sha256 = repeat('0', 64)",
    "the owner of its file": "UPDATE storage_storedfile SET organisation_id = gen_random_uuid()",
    "its file": "DELETE FROM storage_storedfile",
    "the rank of an order alone": "UPDATE orders_order SET rank = 0",
    "why it was asked": "UPDATE orders_order SET indication = 'other'",
    "a role somebody was given": "UPDATE accounts_membership SET role = 'director'",
    "a role somebody had": "DELETE FROM accounts_membership",
    "an order's patient": "UPDATE orders_order SET stated_mrn = 'other'",
}


def _refused(sql: str, message: str = "") -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except IntegrityError as error:
        return message in str(error)
    except ProgrammingError as error:
        return "permission denied" in str(error)
    return False


@pytest.mark.parametrize("what", PINNED)
def test_what_a_placed_order_rests_on_cannot_be_changed_or_deleted(what: str) -> None:
    factories.make_order(variants=3)
    assert _refused(PINNED[what])


@pytest.mark.parametrize("sql", [PINNED["an item's allele"], PINNED["a verdict"], "UPDATE orders_intake SET sample = 'other'"])
def test_what_nothing_rests_on_yet_may_be_staged_anew(sql: str) -> None:
    factories.make_ready_intake(variants=3)
    assert not _refused(sql)


def _result(run: Run, item: Item, **values: object) -> Result:
    given = {"ll_ref": -1.0, "ll_alt": -2.0, "delta": -1.0, "failure": "", **values}
    return Result(
        organisation_id=run.organisation_id, run=run, item=item, job=run.jobs.get(), attempt=1, at_version=1, fingerprint="x",
        batch_invariant=True, worker="test", created_at=run.created_at, **given,
    )  # fmt: skip


def test_an_item_of_a_run_has_one_result() -> None:
    run = Run.objects.get(order_id=factories.make_order(variants=1).pk)
    item = run.item_set.items.get()
    _result(run, item).save()
    with pytest.raises(IntegrityError, match="one_result_per_run_and_item"), transaction.atomic():
        _result(run, item).save()


def test_a_result_belongs_to_its_run_its_job_and_its_items() -> None:
    run, other = (Run.objects.get(order_id=factories.make_order(variants=1).pk) for _ in range(2))
    with pytest.raises(IntegrityError, match="belongs to a job of its run"), transaction.atomic():
        _result(run, other.item_set.items.get()).save()


def test_a_frozen_set_takes_no_more_items() -> None:
    item_set = Run.objects.get(order_id=factories.make_order(variants=1).pk).item_set
    with pytest.raises(IntegrityError, match="takes no more items"), transaction.atomic():
        Item.objects.create(item_set=item_set, ordinal=9, contig="x", position=1, ref="A", alt="C")


@pytest.mark.parametrize("values", [{"ll_alt": None, "delta": None}, {"failure": "item.row-failed"}], ids=["neither", "both"])
def test_a_result_is_scored_or_failed_and_never_both_or_neither(values: dict[str, object]) -> None:
    run = Run.objects.get(order_id=factories.make_order(variants=1).pk)
    with pytest.raises(IntegrityError, match="scored_or_failed"), transaction.atomic():
        _result(run, run.item_set.items.get(), **values).save()


def _copy(table: str, changes: str) -> str:
    """A second row like the first, with some columns changed."""
    return f"INSERT INTO {table} SELECT (jsonb_populate_record(r, '{changes}')).* FROM {table} r"  # noqa: S608 -- names of this file


BROKEN = {
    "run_counts_in_order": "UPDATE engine_queue_run SET items_done = items_cut + 1",
    "run_kind_known": _copy("engine_queue_run", '{"id": "00000000-0000-0000-0000-000000000001", "kind": "other"}'),
    "order_counts_in_order": "UPDATE orders_order SET items_done = items_total + 1",
    "priority_known": "UPDATE orders_order SET priority = 'bogus', promise = 2",
    "stat_has_reason_or_flag": "UPDATE orders_order SET priority = 'stat', rank = 0, stat_reason = '', promise = 2",
    "one_patient_per_identifier": _copy("orders_patientidentifier", '{"id": 999999999}'),
    "one_open_membership": _copy("accounts_membership", '{"id": 999999999}'),
    "one_verdict_per_alternate": _copy("orders_intakerecord", '{"id": 999999999, "item_id": null}'),
    "one_job_per_slice": _copy("engine_queue_job", '{"id": 999999999}'),
}


@pytest.mark.parametrize("constraint", BROKEN)
def test_the_database_holds_the_constraint(constraint: str) -> None:
    factories.make_order(variants=1)
    assert _refused(BROKEN[constraint], constraint)


def test_two_orders_cannot_share_a_placer_number() -> None:
    first = factories.make_order(placer_system="ward", placer_number="1")
    first.pk, first.accession, first.state, first.intake = uuid4(), "A00-000001", "submitted", factories.make_ready_intake()
    first._state.adding = True
    with pytest.raises(IntegrityError, match="one_order_per_placer_number"), forging():
        first.save()


def test_item_sets_and_jobs_are_counted_as_the_factories_say() -> None:
    order = factories.make_order(variants=30)
    assert (ItemSet.objects.get().count, Item.objects.count(), Job.objects.count()) == (30, 30, 2)
    assert order.rank == 3
