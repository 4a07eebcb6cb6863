"""What the benchmark of the worklist opens is there, and the plans that are kept read no large table from end to end."""

import json
from types import SimpleNamespace
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.urls import resolve

from benchmarks import many_pages, plans
from benchmarks.listening import Opened, Seen
from benchmarks.measured import Measured
from foundation import clock


@pytest.fixture
def asks() -> list[many_pages.Ask]:
    now = clock.now()
    order = SimpleNamespace(
        pk=uuid4(), accession="A26-100001", placer_number="P-1", placed_at=now, ended_at=now, report_due=now,
        specimen=SimpleNamespace(identifier="S-1"), patient=SimpleNamespace(family_name="Muster"),
        patient_id=uuid4(),
    )  # fmt: skip
    return many_pages.pages(many_pages.Known(order, order, order, order, now))


def test_every_page_has_a_name_of_its_own_and_a_view(asks: list[many_pages.Ask]) -> None:
    assert len({ask.key for ask in asks}) == len(asks) > 150
    assert {ask.who for ask in asks} == set(many_pages.PEOPLE)
    assert all(resolve(urlsplit(ask.address).path).func for ask in asks)


def test_the_plans_that_are_kept_are_of_these_pages_and_read_no_large_table_whole(asks: list[many_pages.Ask]) -> None:
    kept = json.loads(plans.FILE.read_text())
    assert {key.rpartition(" · ")[0] for key in kept} <= {ask.key for ask in asks} and len(kept) > 500
    assert not any(f"Seq Scan {table}" in plan for plan in kept.values() for table in plans.LARGE)


def node(kind: str, **more: object) -> dict[str, object]:
    return {"Node Type": kind, **more}


def test_a_query_that_reads_a_large_table_from_end_to_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = node("Limit", Plans=[node("Hash Join", Plans=[
        node("Index Scan", **{"Index Name": "order_parties", "Relation Name": "orders_order"}),
        node("Seq Scan", **{"Relation Name": "orders_patient"}), node("Seq Scan", **{"Relation Name": "accounts_user"}),
    ])])  # fmt: skip
    assert plans.compact(found) == "Limit (Hash Join (Index Scan order_parties, Seq Scan orders_patient, Seq Scan accounts_user))"
    monkeypatch.setattr(plans, "_plan", lambda *_: found)
    large = Seen('SELECT 1 FROM "orders_order"', ())
    page = Opened(many_pages.Ask("search", "large", "name", "/"), queries={0: large, 1: Seen("INSERT INTO orders_order", ())})
    result = Measured("worklist", "", "none", 1)
    plans.tell(result, {"": page}, keep=False)
    assert result.figures == {"read_whole": 1} and "search · large · name · 0: orders_patient" in result.notes[0]
