"""Rows written by the database itself: copies of one that is there, a hundred thousand in a second."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]
_INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = ANY(%s::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
"""


@contextlib.contextmanager
def unhindered(superuser: str, tables: Sequence[str]) -> Iterator[Connection]:
    """A connection for which triggers and foreign keys rest, and the indexes of `tables` are built when all rows are there.

    At the end the planner counts.
    """
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica; SET work_mem = '64MB'; SET maintenance_work_mem = '1GB'")
        indexes = connection.execute(_INDEXES, [list(tables)]).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")  # type: ignore[arg-type] -- a name that the database gave
        yield connection
        for _, definition in indexes:
            connection.execute(definition)
        connection.execute("VACUUM (ANALYZE)")


def copy(connection: Connection, row: Any, source: str, changed: Mapping[str, str]) -> None:
    """A copy of `row` for each line of `source`, with the columns in `changed` as SQL over that line."""
    columns = [field.column for field in row._meta.local_concrete_fields]
    values = [f"({changed[column]})" if column in changed else f"template.{column}" for column in columns]
    into, told = f"INSERT INTO {row._meta.db_table} AS made ({', '.join(columns)})", f"SELECT {', '.join(values)}"
    whole = f"{into} {told} FROM {source}, {row._meta.db_table} AS template WHERE template.id = "
    connection.execute(sql.SQL(whole) + sql.Literal(row.pk))  # type: ignore[arg-type] -- our own words
