"""`worklist`: every query of the pages and interfaces that read orders, over 200,000 of fifty laboratories, one with 60 % of them.

Cold: a fresh connection, and a database whose buffers are empty (what the system keeps of its files stays); and warm.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import listening, many_orders, many_pages, many_people, plans, progress, rig
from benchmarks.laboratory import Laboratory
from benchmarks.listening import Opened, Seen
from benchmarks.measured import Bar, Measured, NotMeasured, quantile
from benchmarks.options import Options
from benchmarks.peer import ROOT

_DEPLOYMENT = "ecoli-orf-2k-fp32"
_ORDERS, _QUICK_ORDERS = many_orders.ORDERS, 20_000
_COLD, _WARM, _QUICK_TIMES = 3, 15, 2  # times that a query is asked
_FAST = {"cold": 1, "warm": 3}  # times that one is asked which never took …
_SLOW = {"cold": 60.0, "warm": 20.0}  # … longer, ms
_KEPT = ROOT / ".run" / "benchmarks"
_LOOKED_AT = {  # all day: the pages whose figures are kept
    "worklist": "worklist · large · all open", "small_worklist": "worklist · small · all open",
    "order": "order page · large · order", "patient": "patient page · large, reception · patient",
    "turnaround": "turnaround · large · long period",
}  # fmt: skip
_TIMES, _SLOWEST, _LIKELY = 15, 3, 12  # times that a page is opened again; pages that are named, of so many that were slow at first
_TARGET = 200.0  # ms, p95 of every query

Way = dict[str, Opened]  # by `Ask.key`


def worklist(options: Options) -> Measured:
    """p50 and p95 of the slowest query of each part, cold and warm, and of the turnaround report as a whole."""
    orders = _QUICK_ORDERS if options.quick else _ORDERS
    result = Measured("worklist", f"Queries over {orders:,} orders", "none", 1)
    with rig.rig(_folder(orders)) as made:
        superuser = made.postgres.url("helicase")
        if not made.filled:
            result.figures["fill_seconds"] = _fill(made, superuser, orders)
        listening.setup()
        asks = many_pages.pages(many_pages.known())
        pages: Way = {}
        for ask in progress.counted(f"opening {len(asks)} pages", asks, len(asks)):
            listening.opened(pages, ask)
        ways = {"cold": _asked(pages), "warm": _asked(pages)}
        with psycopg.connect(superuser, autocommit=True) as connection:
            _again("cold", ways["cold"], _QUICK_TIMES if options.quick else _COLD, connection)
        _again("warm", ways["warm"], _QUICK_TIMES if options.quick else _WARM, None)
        _tell(result, ways)
        _tell_pages(result, pages)
        _tell_export(result)
        plans.tell(result, ways["warm"], keep=not options.quick)
    return result


def _asked(pages: Way) -> Way:
    """The queries of the pages that read a large table, each once, without their times."""
    found: Way = {}
    known: set[str] = set()
    for key, page in pages.items():
        fresh = {n: query for n, query in page.queries.items() if plans.is_large(query) and query.key not in known}
        known |= {query.key for query in fresh.values()}
        found[key] = Opened(page.ask, queries={n: Seen(query.statement, query.parameters) for n, query in fresh.items()})
    return found


def _again(way: str, pages: Way, times: int, empty: psycopg.Connection[Any] | None) -> None:
    """Ask every query again, alone; of one that is fast a few times say enough."""
    queries = [query for page in pages.values() for query in page.queries.values()]
    for number in progress.counted(f"asking {len(queries)} queries, {way}", range(times), times):
        for query in queries:
            if number < _FAST[way] or max(query.times) > _SLOW[way]:
                listening.again(query, empty=empty)


def _folder(orders: int) -> Path:
    """Where the database of so many orders lies, as the tables and what fills them are now; those of before go."""
    sha = hashlib.sha256(str(orders).encode())
    fillers = [Path(str(module.__file__)) for module in (many_orders, many_people)]
    for source in [*sorted((ROOT / "platform").glob("*/migrations/*.py")), *fillers]:
        sha.update(source.read_bytes())
    folder = _KEPT / f"orders-{orders}-{sha.hexdigest()[:12]}"
    for old in _KEPT.glob(f"orders-{orders}-*"):
        if old.is_dir() and old != folder:
            rig.forget(old)
    return folder


def _fill(made: rig.Rig, superuser: str, orders: int) -> float:
    progress.stage("writing orders")
    laboratory = Laboratory(made, _DEPLOYMENT)
    made.restart_database(fast=True)
    begun = time.perf_counter()
    many_orders.build(superuser, laboratory, orders=orders)
    seconds = time.perf_counter() - begun
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache")  # by which the buffers are emptied
        connection.execute("CHECKPOINT")
    made.restart_database()
    made.keep()
    return seconds


def _tell(result: Measured, ways: dict[str, Way]) -> None:
    for way, pages in ways.items():
        queries = [(opened.ask, query) for opened in pages.values() for query in opened.queries.values()]
        for part in dict.fromkeys(ask.part for ask, _ in queries):
            ask, worst = max((one for one in queries if one[0].part == part), key=lambda one: quantile(one[1].times, 95))
            value = quantile(worst.times, 95)
            result.bars.append(Bar(f"{part}, {way}, p95 ({ask.who}: {ask.name})", value, "ms, the slowest query"))
            result.figures[f"{part.replace(' ', '_').lower()}_{way}_p95_ms"] = value
        _tell_worst(result, way, queries)
    for share in (50, 95):
        result.figures[f"p{share}_ms"] = max(result.figures[f"{way}_p{share}_ms"] for way in ways)
    result.notes += [
        "cold: every query on a fresh connection and with empty buffers of the database; what the system keeps of its files stays",
        f"queries over large tables: warm {_FAST['warm']} times, {_WARM} where it took over {_SLOW['warm']:.0f} ms; cold once,"
        f" {_COLD} times where it took over {_SLOW['cold']:.0f} ms",
    ]


def _tell_worst(result: Measured, way: str, queries: list[tuple[many_pages.Ask, Seen]]) -> None:
    ask, worst = max(queries, key=lambda one: quantile(one[1].times, 95))
    for share in (50, 95):
        result.figures[f"{way}_p{share}_ms"] = quantile(worst.times, share)
    slow = sorted({f"{ask.key}" for ask, query in queries if quantile(query.times, 95) > _TARGET})
    result.notes.append(f"{way}: {len(queries):,} queries; the slowest is one of “{ask.key}”: {worst.statement[:120]}")
    result.notes.append(f"{way}: over {_TARGET:.0f} ms: {', '.join(slow) or 'none'}")


def _tell_pages(result: Measured, pages: Way) -> None:
    """Pages as a whole, from the request to the last byte: the first time each, and those that are looked at all day again."""
    middle = quantile([page.times[0] for page in pages.values()], 50)
    result.figures["page_first_p50_ms"] = middle
    result.bars.append(Bar(f"a page for the first time, median of {len(pages)}", middle, "ms, all of it"))
    for name, key in _LOOKED_AT.items():
        times = _reopened(pages[key], _TIMES)
        result.figures[f"{name}_page_first_ms"] = pages[key].times[0]
        for share in (50, 95):
            result.figures[f"{name}_page_p{share}_ms"] = quantile(times, share)
        result.bars.append(Bar(f"page, median ({key})", quantile(times, 50), "ms, all of it"))
    likely = sorted(pages.values(), key=lambda page: page.times[0])[-_LIKELY:]
    again = sorted(((quantile(_reopened(page, 3), 50), page.ask.key) for page in likely), reverse=True)
    told = "; ".join(f"{key}, {value:.0f} ms" for value, key in again[:_SLOWEST])
    result.notes.append(f"the slowest pages, medians: {told}")


def _reopened(page: Opened, times: int) -> list[float]:
    """How long it took each time, in milliseconds."""
    again = {page.ask.key: Opened(page.ask)}
    for _ in range(times):
        listening.opened(again, page.ask)
    return again[page.ask.key].times


def _tell_export(result: Measured) -> None:
    """The CSV of every open order of the large laboratory: until the first lines, and whole."""
    from accounts.models import User
    from accounts.services import actor_for
    from dashboard import filter_choices, worklist_csv
    from dashboard.context import zone_of

    user = User.objects.get(email=many_pages.PEOPLE["large"])
    actor, zone = actor_for(user), zone_of(user)
    begun, rows, first = time.perf_counter(), 0, 0.0
    for number, text in enumerate(worklist_csv.lines(actor, filter_choices.read(actor, {}, zone), zone)):
        rows += text.count("\r\n")
        first = time.perf_counter() - begun if number == 1 else first  # the heading is there at once
    seconds = time.perf_counter() - begun
    if rows < 2:
        raise NotMeasured("the CSV has no orders")
    result.figures |= {"csv_first_ms": first * 1e3, "csv_rows_per_second": (rows - 1) / seconds}
    result.bars.append(Bar("CSV, first thousand orders", first * 1e3, "ms"))
    result.bars.append(Bar(f"CSV, {rows - 1:,} orders", (rows - 1) / seconds, "orders/s"))
