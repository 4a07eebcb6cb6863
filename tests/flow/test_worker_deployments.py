"""Several deployments on one worker that runs: loaded, served and left by commands, with measured times."""

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from accounts.roles import Role
from engine_queue.models import Errand, Result, Run, Worker
from orders.models import Order
from registry.models import Deployment
from registry.services import offer_test, register_deployment
from tests.engine_queue.workers import DEPLOYMENT, Crowd, crowd
from tests.factories import make_laboratory, make_order, make_ready_intake, make_reference, make_test_version, make_user

pytestmark = pytest.mark.flow
SECOND = "ecoli-orf-2k-one-thread"


@pytest.fixture
def workers(clone_db: str, valkey_url: str, tmp_path: Path) -> Iterator[Crowd]:
    with crowd(tmp_path) as made:
        yield made


def commanded(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out)
    return out.getvalue()


def scored(order: Order) -> bool:
    return Run.objects.get(order_id=order.pk).state == "scored"


def assert_traced(out: Path, by: str) -> None:
    assert "the last 60 s" in commanded("trace_worker", "engine-1", DEPLOYMENT, "--by", by, "--seconds", "60", "--out", str(out))
    assert "routine" in out.with_suffix(".svg").read_text() and '"finished"' in out.with_suffix(".json").read_text()


def test_a_second_deployment_is_loaded_served_and_takes_the_place_of_the_first(workers: Crowd, tmp_path: Path) -> None:
    """No sweeper runs here: a ticket that is lost while queues change is lost for good."""
    laboratory, reference = make_laboratory(), make_reference()
    first = make_test_version(laboratory=laboratory, reference=reference)
    model = Deployment.objects.get(pk=DEPLOYMENT).model_version
    register_deployment(name=SECOND, model_version=model, precision="fp32", pin={"threads": 1})
    second = offer_test(
        laboratory=laboratory, code="second", name="Second", accepts=["vcf"], reference=reference,
        deployment=Deployment.objects.get(pk=SECOND), protocol=first.protocol, sla_minutes=first.sla_minutes,
    )  # fmt: skip
    by = make_user(role=Role.OPERATOR, organisation=laboratory).email
    theirs, ours = (make_order(intake=make_ready_intake(test_version=test, variants=30)) for test in (second, first))
    workers.engine_worker()
    workers.until(lambda: scored(ours), 60, "scoring by the deployment it serves")
    assert not Result.objects.filter(run__order_id=theirs.pk).exists()  # nobody serves it, and nobody claims it

    assert_traced(tmp_path / "last", by)
    workers.until(lambda: Worker.objects.get().stats.get("set_aside", 0) > 100_000, 30, "what is there for good to be set aside")

    said = commanded("load_deployment", "engine-1", SECOND, "--by", by)
    assert re.fullmatch(rf"worker engine-1, {SECOND}: loaded in \d+\.\d+ s\n", said)
    assert commanded("load_deployment", "engine-1", SECOND, "--by", by) == f"worker engine-1 serves {SECOND} already\n"
    workers.until(lambda: scored(theirs), 30, "scoring by the deployment that was loaded")
    assert Worker.objects.get().deployments == [DEPLOYMENT, SECOND]

    said = commanded("unload_deployment", "engine-1", DEPLOYMENT, "--by", by)
    assert re.search(r"drained in \d+\.\d+ s, unloaded in \d+\.\d+ s, 0 jobs finished, 0 given back", said)
    stays, runs = (make_order(intake=make_ready_intake(test_version=test, variants=30)) for test in (first, second))
    workers.until(lambda: scored(runs), 60, "scoring by the deployment that stayed")
    assert Run.objects.get(order_id=stays.pk).state == "queued"

    said = commanded("swap_deployment", "engine-1", SECOND, DEPLOYMENT, "--by", by)
    assert "loaded in" in said.splitlines()[0] and "drained in" in said.splitlines()[1]
    workers.until(lambda: scored(stays), 60, "scoring by the deployment that came back")
    told = [" ".join(errand) for errand in Errand.objects.order_by("pk").values_list("verb", "state")]
    assert told == ["trace done", "load done", "load refused", "unload done", "load done", "unload done"]


def test_a_worker_begins_with_several_deployments_named_with_commas(workers: Crowd) -> None:
    model = make_test_version().deployment.model_version
    register_deployment(name=SECOND, model_version=model, precision="fp32", pin={"threads": 1})
    workers.start("engine_worker", "--name", "engine-1", "--deployments", f"{DEPLOYMENT},{SECOND}")
    workers.until(lambda: Worker.objects.filter(deployments=[DEPLOYMENT, SECOND]).exists(), 60, "both loaded")
