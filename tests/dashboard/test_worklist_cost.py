"""What pages cost: as many queries for sixty orders as for three, and an index where thousands of orders are closed."""

import json
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.roles import Role
from dashboard import filter_choices, worklist_csv
from dashboard.context import UTC
from orders import keys, pages, worklist
from orders.filters import Filters
from orders.worklist import Reach
from tests.dashboard.people import Ward, read
from tests.factories import make_actor
from tests.forging import forging
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db
CLOSED = 5_000
# Copies of one order with intake, patient and number of their own; three hundred and more of them stay open.
COPIES = """
    WITH fresh AS (SELECT n, gen_random_uuid() AS id FROM generate_series(1, %(count)s) AS n),
    intakes AS (
        INSERT INTO orders_intake
        SELECT (jsonb_populate_record(i, jsonb_build_object('id', fresh.id, 'item_set_id', NULL, 'state', 'waiting'))).*
        FROM orders_intake i, fresh WHERE i.id = %(intake)s
    ),
    patients AS (
        INSERT INTO orders_patient
        SELECT (jsonb_populate_record(p, jsonb_build_object('id', fresh.id, 'family_name', 'Family ' || n))).*
        FROM orders_patient p, fresh WHERE p.id = %(patient)s
    )
    INSERT INTO orders_order SELECT (jsonb_populate_record(o, jsonb_build_object(
        'id', fresh.id, 'intake_id', fresh.id, 'patient_id', fresh.id, 'accession', 'A99-' || lpad(n::text, 6, '0'),
        'state', 'submitted', 'placer_number', '', 'ended_at', CASE WHEN n %% 16 > 0 THEN o.placed_at END
    ))).* FROM orders_order o, fresh WHERE o.id = %(order)s
"""


@pytest.fixture
def ward():
    return Ward()


def queries(act):
    with CaptureQueriesContext(
        connection,
    ) as seen:
        act()
    return [query["sql"] for query in seen.captured_queries]


def copies(order, count):
    with forging(), connection.cursor() as cursor:
        cursor.execute(COPIES, {"count": count, "intake": order.intake_id, "patient": order.patient_id, "order": order.pk})
        cursor.execute("ANALYZE orders_order, orders_patient, orders_intake, orders_patientidentifier")


def plan(rows):
    """The names of the indexes a query uses, and the tables it reads from end to end."""

    def nodes(node):
        yield node
        for child in node.get("Plans", []):
            yield from nodes(child)

    found = list(nodes(json.loads(rows.explain(format="json"))[0]["Plan"]))
    return {node["Index Name"] for node in found if "Index Name" in node}, {
        node["Relation Name"] for node in found if node["Node Type"] == "Seq Scan"
    }


def test_the_worklist_and_a_page_take_as_many_queries_for_sixty_orders_as_for_three(ward):
    scored, client = ward.scored(), ward.analyst()
    for n in range(2):
        ward.order(priority="stat" if n == 1 else "routine")
    asked = [("worklist", (), query, 41) for query in ({}, {"chip": "late"}, {"q": "Muster"}, {"chip": "done", "q": "A2"})]
    asked += [(name, (scored.pk,), {}, 31) for name in ("order", "order-live")]

    def counts():
        for name, args, query, _ in asked:  # the first reading of a page fills what is remembered
            read(client, name, *args, **query)
        return [len(queries(lambda p=page: read(client, p[0], *p[1], **p[2]))) for page in asked]

    few = counts()
    for n in range(57):
        ward.order(priority="stat" if n % 9 == 1 else "routine")
    assert counts() == few and all(count <= page[3] for count, page in zip(few, asked, strict=True))


def test_the_lines_of_a_file_read_nothing_of_an_order_twice(ward):
    ward.scored()
    actor = make_actor(role=Role.ANALYST, organisation=ward.laboratory)
    asked = filter_choices.read(actor, {}, UTC)
    few = queries(lambda: list(worklist_csv.lines(actor, asked, UTC)))
    for priority in ("stat", "asap", "routine"):
        ward.order(priority=priority)
    many = queries(lambda: list(worklist_csv.lines(actor, asked, UTC)))
    assert len(many) == len(few) <= 6 and not any("orders_intake" in sql for sql in many)


def test_a_list_is_sorted_and_filtered_in_its_index_among_thousands_of_orders(ward):
    copies(ward.order(), CLOSED)
    actor = make_actor(role=Role.ANALYST, organisation=ward.laboratory)
    for filters in ({}, {"chip": "late"}, {"chip": "done"}, {"priority": "asap"}, {"site": UUID(int=7)}, {"sort": "due"}):
        asked = Filters(**filters)
        key = keys.KEYS[worklist.sorted_by(asked)]
        performed, ordered = (plan(keys.key_of(side, key, forward=True)[:51]) for side in Reach(actor, asked).listed())
        assert performed[0] and ordered[0] and not performed[1] | ordered[1], filters
        assert not any("UPPER" in sql for sql in queries(lambda a=asked: worklist.worklist(actor, a)))


def test_what_is_rare_among_thousands_of_orders_is_found_in_an_index_of_its_own(ward):
    copies(ward.order(), CLOSED)
    actor = make_actor(role=Role.ANALYST, organisation=ward.laboratory)
    rare = {"order_state": {"state": "rejected"}, "order_stat": {"priority": "stat"}, "order_held": {"held": True},
            "order_attention": {"attention": True}}  # fmt: skip
    for index, wanted in rare.items():
        asked = queries(lambda wanted=wanted: pages.newest(actor, pages.Wanted(**wanted), Filters(chip=""), after=None, limit=50))
        for_lab = next(sql for sql in asked if "LIMIT 50" in sql and '"performing_laboratory_id" IN' in sql.rpartition(" AND ")[2])
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN " + for_lab)
            told = "\n".join(line for (line,) in cursor.fetchall())
        assert f"using {index}" in told or f"on {index}" in told, told


def test_a_search_can_look_its_values_up_in_the_trigram_indexes(ward):
    copies(ward.order(patient=patient(mrn="77-4711")), CLOSED)
    actor = make_actor(role=Role.ANALYST, organisation=ward.laboratory)
    with connection.cursor() as cursor:
        # tables of this size may be read whole for good reason: asked is whether the look-ups are possible
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
    asked = Filters(search="Family 4711", chip="done")
    indexes = set().union(*(plan(side)[0] for side in Reach(actor, asked).listed()))
    assert {"family_name_trigram", "given_name_trigram", "identifier_trigram"} <= indexes
    assert [found.accession for found in worklist.worklist(actor, asked).rows] == ["A99-004711"]


def test_a_text_that_is_found_everywhere_gives_the_same_orders_as_one_that_is_looked_up(ward, monkeypatch):
    copies(ward.order(), 200)
    actor = make_actor(role=Role.ANALYST, organisation=ward.laboratory)
    for text in ("A99", "family 1", "muster", "é"):
        asked = Filters(search=text, chip="done")
        few = worklist.selected(actor, asked, most=500)
        with monkeypatch.context() as patch:
            patch.setattr("orders.filters.FEW", -1)
            assert worklist.selected(actor, asked, most=500) == few, text


def test_closed_orders_beyond_the_newest_thousand_are_counted_as_more(ward, monkeypatch):
    monkeypatch.setattr(worklist, "CLOSED", 40)
    copies(ward.order(), 100)
    page = read(ward.analyst(), "worklist", chip="done")
    assert "Closed<b>40+</b>" in page and "of 40+" in page
