"""With twenty thousand jobs behind it, no question that is asked all the time reads a whole table."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from engine_queue import claim, line, selectors, sweeper
from engine_queue.models import Job, Run
from orders import estimates
from orders.models import Order
from tests.engine_queue.rows import make_run
from tests.engine_queue.workers import DEPLOYMENT
from tests.factories import make_order
from tests.services import Services

# Past work is born finished here, which no trigger would allow, and the planner learns of it at once.
_HISTORY = """
    SET session_replication_role = replica;
    INSERT INTO engine_queue_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'state', 'scored'))).*
        FROM engine_queue_run r, generate_series(1, 2000) WHERE r.order_id IS NULL;
    INSERT INTO engine_queue_job SELECT (jsonb_populate_record(j, jsonb_build_object(
            'id', j.id + n, 'first', j.first + n, 'last', j.last + n,
            'state', CASE WHEN n % 20 = 0 THEN 'queued' ELSE 'succeeded' END, 'started_at', now() - n * interval '1 minute',
            'ended_at', now() - n * interval '1 minute'))).*
        FROM engine_queue_job j JOIN engine_queue_run r ON r.id = j.run_id, generate_series(1, 20000) n WHERE r.order_id IS NULL;
    ANALYZE engine_queue_run, engine_queue_job;
"""


@pytest.fixture
def order(clone_db: str, services: Services) -> Iterator[Order]:
    made = make_order(variants=10)
    make_run(items=1)
    with psycopg.connect(services.postgres.url(connections.settings["default"]["NAME"]), autocommit=True) as superuser:
        superuser.execute(_HISTORY)
    yield made


def plans_of(question: Callable[[], object]) -> str:
    """How Postgres answers each SELECT that `question` asks."""
    with CaptureQueriesContext(connection) as asked:
        question()
    reads = [
        query["sql"] for query in asked if query["sql"].lstrip().startswith(("SELECT", "WITH")) and "engine_queue" in query["sql"]
    ]
    assert reads
    with connection.cursor() as cursor:
        plans = []
        for sql in reads:
            cursor.execute("EXPLAIN " + sql.replace("%", "%%"))
            plans += [line for (line,) in cursor.fetchall()]
    return "\n".join(plans)


QUESTIONS: list[tuple[Callable[[Order], object], str]] = [
    (lambda order: selectors.positions([Run.objects.get(order_id=order.pk).pk]), "job_open"),
    (lambda order: list(sweeper._stuck_runs().order_by("created_at")[:500]), "run_open"),
    (lambda order: sweeper._bury(), "job_leases"),
    (lambda order: estimates.estimate(order.intake), "run_open"),
    (lambda order: estimates.finishes([order]), "run_open"),
    (lambda order: line.rates([(DEPLOYMENT, "variant")]), "job_pace"),
    (lambda order: claim._best([DEPLOYMENT], stat=False, deaths=9), "job_claim"),
]


def test_each_goes_by_its_index(order: Order) -> None:
    assert (Job.objects.count(), Run.objects.count()) > (20_000, 2_000)
    for number, (question, index) in enumerate(QUESTIONS):
        with transaction.atomic():
            plan = plans_of(lambda ask=question: ask(order))
            transaction.set_rollback(True)
        assert index in plan, (number, plan)
        assert "Seq Scan on engine_queue_job" not in plan, (number, plan)
        assert "Seq Scan on engine_queue_run" not in plan, (number, plan)
