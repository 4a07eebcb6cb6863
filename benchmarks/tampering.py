"""Manipulations of an audit chain, as somebody makes them who owns the database and has switched its triggers off.

He knows the recipe and how links are made. He has neither the anchors nor their key. Each takes a superuser's cursor and a random
number generator, and says what it did.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Cursor = Any
Tampering = Callable[[Cursor, Random], str]

_SETS = (
    "at = at - interval '1 microsecond'", "at = at + interval '1 day'", "organisation_id = gen_random_uuid()", "actor_id = NULL",
    "actor_id = gen_random_uuid()", "actor_name = actor_name || ' '", "action = 'order.viewed '", "object_type = 'orders.patient'",
    "object_id = '0'", "reason = 'another one'", "facts = facts || '{\"n\": -1}'", "facts = '{}'", "origin = 'page, 192.0.2.9'",
    "xact = xact + 1",
)  # fmt: skip


def switch_off(cursor: Cursor) -> None:
    """No trigger of any table works in this session."""
    cursor.execute("SET session_replication_role = replica")


def update(cursor: Cursor, random: Random) -> str:
    """One column of one event."""
    event, change = _some(cursor, random), random.choice(_SETS)
    cursor.execute(f"UPDATE audit_event SET {change} WHERE id = %s", [event])  # noqa: S608 -- of this file
    return f"event {event}: {change}"


def exchange(cursor: Cursor, random: Random) -> str:
    """What two events say."""
    one, other = sorted(_some(cursor, random, 2))
    cursor.execute("UPDATE audit_event SET id = -id WHERE id IN (%s, %s)", [one, other])
    cursor.execute("UPDATE audit_event SET id = CASE id WHEN -%s THEN %s ELSE %s END WHERE id < 0", [one, other, one])
    return f"events {one} and {other} exchanged"


def delete(cursor: Cursor, random: Random) -> str:
    """One event; its link stays."""
    event = _some(cursor, random)
    cursor.execute("DELETE FROM audit_event WHERE id = %s", [event])
    return f"event {event} deleted"


def delete_both(cursor: Cursor, random: Random) -> str:
    """One event and its link."""
    event = _some(cursor, random)
    _delete(cursor, "id = %s", [event])
    return f"event {event} and its link deleted"


def delete_and_close(cursor: Cursor, random: Random) -> str:
    """One event and its link, and the chain made anew without them."""
    said = delete_both(cursor, random)
    rechain(cursor)
    return f"{said}, chain made anew"


def delete_day(cursor: Cursor, random: Random) -> str:
    """All events of a day with their links, the chain made anew or not."""
    cursor.execute("SELECT DISTINCT date_trunc('day', at) FROM audit_event ORDER BY 1")
    day = random.choice([row[0] for row in cursor.fetchall()])
    _delete(cursor, "at >= %s AND at < %s + interval '1 day'", [day, day])
    if close := random.random() < 0.5:
        rechain(cursor)
    return f"{day:%Y-%m-%d} deleted{', chain made anew' if close else ''}"


def cut(cursor: Cursor, random: Random) -> str:
    """The newest events with their links."""
    cursor.execute("SELECT max(seq) FROM audit_link")
    number = random.randint(1, max(1, cursor.fetchone()[0] // 4))
    _delete(cursor, "id IN (SELECT event_id FROM audit_link ORDER BY seq DESC LIMIT %s)", [number])
    return f"the newest {number} events and links deleted"


def truncate(cursor: Cursor, random: Random) -> str:
    """A whole table, or both."""
    tables = random.choice(("audit_event", "audit_link", "audit_event, audit_link"))
    cursor.execute(f"TRUNCATE {tables}")
    return f"{tables} truncated"


def relink(cursor: Cursor, random: Random) -> str:
    """Which events two links speak of, with their digests."""
    one, other = sorted(_some(cursor, random, 2))
    cursor.execute("CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM audit_link WHERE event_id IN (%s, %s)", [one, other])
    cursor.execute("DELETE FROM audit_link WHERE event_id IN (%s, %s)", [one, other])
    cursor.execute(
        "INSERT INTO audit_link SELECT a.seq, b.event_id, b.organisation_id, b.recipe, a.sealed_at, b.digest, a.hash"
        " FROM kept a JOIN kept b ON a.seq <> b.seq"
    )
    cursor.execute("DROP TABLE kept")
    return f"links of events {one} and {other} exchanged"


def insert(cursor: Cursor, random: Random) -> str:
    """An event of the past, as if its transaction had been one of then; without a link."""
    event = _copied(cursor, _some(cursor, random))
    return f"event {event} put in"


def insert_and_rechain(cursor: Cursor, random: Random) -> str:
    """An event of the past, sealed in the middle of a chain that is made anew."""
    old = _some(cursor, random)
    event = _copied(cursor, old)
    cursor.execute("SELECT seq FROM audit_link WHERE event_id = %s", [old])
    seq = cursor.fetchone()[0]
    cursor.execute("UPDATE audit_link SET seq = -seq - 1 WHERE seq >= %s", [seq])
    cursor.execute("UPDATE audit_link SET seq = -seq WHERE seq < 0")
    cursor.execute(
        "INSERT INTO audit_link"
        " SELECT %s, %s, organisation_id, recipe, sealed_at, digest, hash FROM audit_link WHERE event_id = %s",
        [seq, event, old],
    )
    rechain(cursor)
    return f"event {event} put in and sealed as link {seq}, chain made anew"


def update_and_rechain(cursor: Cursor, random: Random) -> str:
    """One column of one event, and the whole chain made anew."""
    said = update(cursor, random)
    rechain(cursor)
    return f"{said}, chain made anew"


def backdate(cursor: Cursor, random: Random) -> str:
    """When an event was sealed."""
    event = _some(cursor, random)
    cursor.execute("UPDATE audit_link SET sealed_at = sealed_at - interval '1 day' WHERE event_id = %s", [event])
    return f"link of event {event} dated back"


ALL: tuple[Tampering, ...] = (
    update, update, exchange, delete, delete_both, delete_and_close, delete_day, cut, truncate, relink, insert, insert_and_rechain,
    update_and_rechain, backdate,
)  # fmt: skip


def rechain(cursor: Cursor) -> None:
    """Every link anew over what the events say now, numbers without a gap: a chain that is whole in itself."""
    from audit import canonical

    cursor.execute(
        f"SELECT e.id, e.organisation_id::text, l.sealed_at, {canonical.microseconds('l.sealed_at')}, {canonical.text_of_event(1)}"  # noqa: S608
        " FROM audit_link l JOIN audit_event e ON e.id = l.event_id ORDER BY l.seq"
    )
    rows, before = cursor.fetchall(), canonical.NOTHING
    cursor.execute("DELETE FROM audit_link")
    with cursor.copy("COPY audit_link (seq, event_id, organisation_id, recipe, sealed_at, digest, hash) FROM STDIN") as copy:
        for seq, (event, organisation, sealed_at, sealed, text) in enumerate(rows, 1):
            digest = canonical.digest_of_event(text)
            before = canonical.hash_of_link(seq, event, organisation, 1, sealed, digest, before)
            copy.write_row((seq, event, organisation, 1, sealed_at, digest, before))


def _some(cursor: Cursor, random: Random, number: int = 1) -> Any:
    cursor.execute("SELECT event_id FROM audit_link ORDER BY seq")
    found = random.sample([row[0] for row in cursor.fetchall()], number)
    return found[0] if number == 1 else found


def _copied(cursor: Cursor, event: int) -> int:
    cursor.execute(
        "INSERT INTO audit_event"
        " (at, organisation_id, actor_id, actor_name, action, object_type, object_id, reason, facts, origin, xact)"
        " SELECT at, organisation_id, actor_id, 'Somebody else', action, object_type, object_id, reason, facts, origin, xact"
        " FROM audit_event WHERE id = %s RETURNING id",
        [event],
    )
    return int(cursor.fetchone()[0])


def _delete(cursor: Cursor, where: str, values: list[Any]) -> None:
    """Events of this kind, with their links."""
    cursor.execute(f"DELETE FROM audit_link WHERE event_id IN (SELECT id FROM audit_event WHERE {where})", values)  # noqa: S608
    if where.startswith("id IN (SELECT event_id FROM audit_link"):
        cursor.execute("DELETE FROM audit_event e WHERE NOT EXISTS (SELECT FROM audit_link l WHERE l.event_id = e.id)")
    else:
        cursor.execute(f"DELETE FROM audit_event WHERE {where}", values)  # noqa: S608 -- of this file
