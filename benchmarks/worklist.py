"""`worklist`: every query of the worklist page over 200,000 orders of fifty laboratories, one with 60 % of them; cold and warm."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks import many_orders, progress, rig
from benchmarks.laboratory import Laboratory
from benchmarks.measured import Bar, Measured, NotMeasured, quantile
from benchmarks.options import Options
from benchmarks.report import RESULTS

_DEPLOYMENT = "ecoli-orf-2k-fp32"
_ROUNDS, _QUICK_ROUNDS, _QUICK_ORDERS = 20, 1, 40_000
_PEOPLE = {"large": "p0.0@example.org", "small": "p7.0@example.org", "requester": "r3@example.org"}
_PAGES: dict[str, dict[str, str]] = {
    "all open": {}, "mine": {"chip": "mine"}, "unassigned": {"chip": "unassigned"}, "running": {"chip": "running"},
    "review": {"chip": "review"}, "late": {"chip": "late"}, "attention": {"chip": "attention"}, "hold": {"chip": "hold"},
    "closed": {"chip": "done"}, "priority": {"priority": "asap"}, "stage": {"state": "in_analysis"},
    "nobody": {"assignee": "nobody"},
    "period": {"placed_from": "2026-01-01", "due_to": "2030-01-01"}, "by due time": {"sort": "due"}, "newest": {"sort": "placed"},
    "accession": {"q": "A26"}, "one accession": {"q": "000123"}, "record number": {"q": "77-0001"}, "name": {"q": "aei"},
    "two letters": {"q": "ae"}, "closed, name": {"chip": "done", "q": "aei"}, "nothing": {"q": "zzzz"},
    "nothing closed": {"chip": "done", "q": "zzzz"},
}  # fmt: skip


@dataclass
class _Seen:
    """The times of one query of one page, in milliseconds, and the query."""

    statement: str
    parameters: Any
    times: list[float] = field(default_factory=list)


def worklist(options: Options) -> Measured:
    """p50 and p95 of the slowest query, of all that the pages ask: cold (fresh connection, restarted server) and warm."""
    rounds, orders = (_QUICK_ROUNDS, _QUICK_ORDERS) if options.quick else (_ROUNDS, many_orders.ORDERS)
    result = Measured("worklist", f"Queries of the worklist over {orders:,} orders", "none", rounds)
    with rig.rig() as made:
        progress.stage("writing orders")
        many_orders.build(made.postgres.url("helicase"), Laboratory(made, _DEPLOYMENT), orders=orders)
        _restart(made)
        cold, warm = {}, {}
        progress.stage("reading pages")
        for _ in range(rounds):
            _round(cold, fresh=True)
            _round(warm, fresh=False)
        _tell(result, {"cold": cold, "warm": warm})
        _plans(result, warm, keep=not options.quick)
    return result


def _restart(made: rig.Rig) -> None:
    """The database again, with empty buffers; what the system keeps of its files stays."""
    from django.db import connections

    connections.close_all()
    made.postgres.stop()
    made.postgres.start()


def _round(seen: dict[tuple[str, str, int], _Seen], *, fresh: bool) -> None:
    from django.db import connection
    from django.http import QueryDict

    from accounts.models import User
    from accounts.services import actor_for
    from dashboard import worklist_page

    for who, address in _PEOPLE.items():
        user = User.objects.get(email=address)
        for page, query in _PAGES.items():
            if fresh:
                connection.close()
            with _heard(seen, (who, page)):
                asked = QueryDict(mutable=True)
                asked.update(query)
                found = worklist_page.page(user, actor_for(user), asked)
            if page == "all open" and found.worklist.after:
                deep = QueryDict(mutable=True)
                deep["at"] = "3~" + str(found.worklist.after).partition("~")[2]  # among the routine orders, the most
                with _heard(seen, (who, "deep page")):
                    worklist_page.page(user, actor_for(user), deep)


@contextmanager
def _heard(seen: dict[tuple[str, str, int], _Seen], where: tuple[str, str]) -> Iterator[None]:
    """Every statement in here is timed, under its number on the page."""
    from django.db import connection

    numbers = iter(range(10_000))

    def hear(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        begun = time.perf_counter()
        try:
            return execute(statement, parameters, many, context)
        finally:
            one = seen.setdefault((*where, next(numbers)), _Seen(statement, parameters))
            one.times.append((time.perf_counter() - begun) * 1e3)

    with connection.execute_wrapper(hear):
        yield


def _tell(result: Measured, ways: dict[str, dict[tuple[str, str, int], _Seen]]) -> None:
    for way, seen in ways.items():
        worst = max(seen.values(), key=lambda one: quantile(one.times, 95))
        where = next(key for key, one in seen.items() if one is worst)
        for share in (50, 95):
            value = quantile(worst.times, share)
            result.figures[f"{way}_p{share}_ms"] = value
            result.bars.append(Bar(f"{way}, p{share}", value, "ms, the slowest query"))
        result.notes.append(
            f"{way}: the slowest of {len(seen)} queries is number {where[2]} of “{where[1]}” for the {where[0]} one"
        )
    for share in (50, 95):
        result.figures[f"p{share}_ms"] = max(result.figures[f"{way}_p{share}_ms"] for way in ways)


def _plans(result: Measured, seen: dict[tuple[str, str, int], _Seen], *, keep: bool) -> None:
    """The plan of each query that reads orders; one that reads the table from end to end is no result."""
    from django.db import connection

    plans, scanned = {}, []
    for (who, page, number), one in seen.items():
        if "orders_order" not in one.statement or not one.statement.lstrip().startswith(("SELECT", "WITH")):
            continue
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN (FORMAT JSON) " + one.statement, one.parameters)
            plan = cursor.fetchone()[0]
        text = json.dumps(plan)
        plans[f"{who} · {page} · {number}"] = _compact(plan[0]["Plan"])
        if '"Node Type": "Seq Scan", "Parallel Aware": false, "Async Capable": false, "Relation Name": "orders_order"' in text:
            scanned.append(f"{who} · {page} · {number}")
    if keep:
        (RESULTS / "worklist-plans.json").write_text(json.dumps(plans, indent=0) + "\n", encoding="utf-8")
    if scanned:
        raise NotMeasured(f"{len(scanned)} queries read every order there is, the first is {scanned[0]}")
    result.notes.append(f"{len(plans)} plans, none of which reads the table of orders from end to end")


def _compact(node: dict[str, Any]) -> str:
    """A plan in a line: nodes with their index or table, the children in brackets."""
    name = f"{node['Node Type']} {node.get('Index Name') or node.get('Relation Name', '')}".strip()
    children = [_compact(child) for child in node.get("Plans", [])]
    return f"{name} ({', '.join(children)})" if children else name
