"""The plan of every query that reads a large table, kept beside the figures, and compared with those of the last time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from benchmarks.listening import Opened, Seen
from benchmarks.many_orders import TABLES
from benchmarks.measured import Measured
from benchmarks.report import RESULTS

FILE = RESULTS / "worklist-plans.json"
LARGE = frozenset(TABLES) - {"orders_hold", "orders_identitycheck", "engine_queue_run", "engine_queue_job"}
_READS = re.compile("|".join(f'"{table}"' for table in sorted(LARGE)))


def tell(result: Measured, pages: dict[str, Opened], *, keep: bool) -> None:
    """How many queries read a large table from end to end, and which; how many plans are others than those kept."""
    found, whole = {}, []
    for opened in pages.values():
        for number, query in opened.queries.items():
            if not is_large(query):
                continue
            root = _plan(query.statement, query.parameters)
            found[f"{opened.ask.key} · {number}"] = compact(root)
            whole += [f"{opened.ask.key} · {number}: {table}" for table in read_whole(root)]
    result.figures["read_whole"] = len(whole)
    kept = json.loads(FILE.read_text()) if FILE.is_file() else {}
    others = sum(plan != kept.get(key) for key, plan in found.items())
    result.notes.append(f"{len(found):,} plans; from end to end a large table is read by: {', '.join(whole) or 'none'}")
    if keep:
        result.notes.append(f"{others:,} of the plans are others than those kept before")
        FILE.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def is_large(query: Seen) -> bool:
    """Whether it reads one of the large tables."""
    return query.reads and bool(_READS.search(query.statement))


def compact(node: dict[str, Any]) -> str:
    """A plan in a line: nodes with their index or table, the children in brackets."""
    name = f"{node['Node Type']} {node.get('Index Name') or node.get('Relation Name', '')}".strip()
    children = [compact(child) for child in node.get("Plans", [])]
    return f"{name} ({', '.join(children)})" if children else name


def read_whole(node: dict[str, Any]) -> Iterator[str]:
    """The large tables that a plan reads from end to end."""
    if node["Node Type"] == "Seq Scan" and node["Relation Name"] in LARGE:
        yield node["Relation Name"]
    for child in node.get("Plans", []):
        yield from read_whole(child)


def _plan(statement: str, parameters: Any) -> dict[str, Any]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (FORMAT JSON) " + statement, parameters)
        plan: dict[str, Any] = cursor.fetchone()[0][0]["Plan"]
    return plan
