"""Events are sealed once committed, in the order of their transactions, and nobody who writes them waits for it."""

import errno
import os
from datetime import timedelta
from pathlib import Path
from threading import Event as Flag

import psycopg
import pytest
from django.db import Error, connection, transaction

from audit import anchors, canonical, keeping, keys
from audit.anchors import AnchorsLost, Writer
from audit.models import Event, Link, Sealing
from audit.sealing import Head, Sealer
from foundation import clock
from tests.audit.chain import seal, write

INSERT = """
    INSERT INTO audit_event (at, organisation_id, actor_name, action, object_type, object_id, reason, facts)
    VALUES (now(), gen_random_uuid(), 'x', %s, 'x', 'x', '', '{}')
"""


def sealed() -> list[str]:
    """What the sealed events are, in the order of the chain."""
    names = dict(Event.objects.values_list("id", "action"))
    return [names[one] for one in Link.objects.order_by("seq").values_list("event_id", flat=True)]


def test_an_open_transaction_holds_up_what_came_after_it_and_nothing_before(empty: psycopg.Cursor, clone_db: str) -> None:
    sealer = seal()
    with psycopg.connect(clone_db) as first, psycopg.connect(clone_db) as second, psycopg.connect(clone_db) as third:
        for session, action in ((first, "first"), (second, "second"), (third, "third")):
            session.execute(INSERT, [action])
        first.commit()
        third.commit()
        seal(sealer)
        assert sealed() == ["first"]
        assert "whose transaction has been open" in keeping._held_up(sealer)
        second.commit()
        seal(sealer)
    assert sealed() == ["first", "second", "third"]
    assert list(Link.objects.order_by("seq").values_list("seq", flat=True)) == [1, 2, 3]
    assert keeping._held_up(sealer) == ""


def test_who_writes_events_waits_for_no_sealer_and_the_sealer_for_no_writer(empty: psycopg.Cursor, clone_db: str) -> None:
    write(3)
    sealer = Sealer.take_up()
    with psycopg.connect(clone_db) as writer, transaction.atomic():
        writer.execute("SET lock_timeout = '100ms'")
        assert sealer.round() == 3  # and its transaction is open
        writer.execute(INSERT, ["beside"])
        writer.commit()
    seal(sealer)
    assert Link.objects.count() == 4


def test_what_was_rolled_back_leaves_no_gap_in_the_chain(empty: psycopg.Cursor, clone_db: str) -> None:
    sealer = seal()
    with psycopg.connect(clone_db) as session:
        session.execute(INSERT, ["gone"])
        session.rollback()
        session.execute(INSERT, ["kept"])
        session.commit()
    seal(sealer)
    assert sealed() == ["kept"] and Link.objects.get().seq == 1


def test_events_of_before_the_migration_and_of_a_restored_dump_are_taken_up(empty: psycopg.Cursor, clone_db: str) -> None:
    write(3)
    old, restored, new = Event.objects.order_by("id")
    empty.execute("UPDATE audit_event SET xact = NULL WHERE id = %s", [old.pk])
    empty.execute("UPDATE audit_event SET xact = 1::bigint << 40 WHERE id = %s", [restored.pk])
    seal()
    assert set(Link.objects.values_list("event_id", flat=True)) == {old.pk, restored.pk, new.pk}
    write()
    seal()  # as after a start, behind a link whose event seems to be of the future
    assert Link.objects.count() == 4


def test_a_backlog_is_sealed_batch_by_batch_each_transaction_whole(empty: psycopg.Cursor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.sealing.BATCH", 4)
    for number in (3, 6, 2):
        write(number)
    sealer, sizes = Sealer.take_up(), []
    while number := sealer.round():
        sizes.append(number)
    assert sizes == [9, 2]
    assert list(Link.objects.order_by("seq").values_list("event_id", flat=True)) == list(
        Event.objects.order_by("id").values_list("id", flat=True)
    )


def test_a_second_sealer_stands_by(empty: psycopg.Cursor, clone_db: str) -> None:
    stop, said = Flag(), []

    def say(words: str) -> None:
        said.append(words)
        stop.set()

    with psycopg.connect(clone_db) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [keeping.LOCK])
        keeping.run(stop, say)
    assert said == ["the sealer stands by: another one is active"]


def test_the_sealer_seals_anchors_from_the_empty_chain_on_and_anchors_its_last_head(
    empty: psycopg.Cursor, tmp_path: Path, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AUDIT_ANCHORS = tmp_path / "anchors"
    write(2)
    stop = Flag()
    monkeypatch.setattr(stop, "wait", lambda _: stop.set())
    keeping.run(stop, lambda _: None)
    written = anchors._last(tmp_path / "anchors" / anchors.files(tmp_path / "anchors")[0])
    assert [one.seq for one in written] == [0, 2]
    state = Sealing.objects.get()
    assert (state.swept, state.anchored_seq, state.anchor, state.trouble) == (True, 2, written[-1].digest, "")


@pytest.mark.django_db
@pytest.mark.parametrize("sql", ["UPDATE {} SET {} = {}", "DELETE FROM {}", "TRUNCATE {}"])
def test_the_application_only_adds_links(sql: str) -> None:
    with pytest.raises(Error, match="permission denied"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.format("audit_link", "seq", "seq"))


@pytest.mark.django_db
def test_the_owner_cannot_change_links_either_while_triggers_work() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgname FROM pg_trigger WHERE tgrelid = 'audit_link'::regclass AND tgenabled = 'O'")
        assert {"audit_link_insert_only_rows", "audit_link_insert_only_truncate"} <= {row[0] for row in cursor.fetchall()}


def test_the_newest_recipe_holds_every_column_of_an_event() -> None:
    assert set(canonical.COLUMNS[canonical.RECIPE]) == {field.attname for field in Event._meta.concrete_fields}


@pytest.mark.django_db
def test_the_text_of_an_event_does_not_depend_on_the_session() -> None:
    write()
    texts = set()
    with connection.cursor() as cursor:
        for zone, style, digits in (("UTC", "ISO", 0), ("Asia/Kolkata", "German", -15)):
            cursor.execute(
                f"SET LOCAL TimeZone = '{zone}'; SET LOCAL DateStyle = '{style}'; SET LOCAL extra_float_digits = {digits}"
            )
            cursor.execute(f"SELECT {canonical.text_of_event(1)} FROM audit_event e ORDER BY id DESC LIMIT 1")  # noqa: S608 -- columns of our own
            texts |= {row[0] for row in cursor.fetchall()}
    assert len(texts) == 1 and texts.pop().startswith('["helicase-event-1", ')


def test_a_digest_and_a_hash_are_what_they_always_were() -> None:
    digest = canonical.digest_of_event('["helicase-event-1", 1]')
    link = canonical.hash_of_link(1, 1, "00000000-0000-0000-0000-000000000000", 1, 0, digest, canonical.NOTHING)
    assert digest.hex() == "e0c2fdd003a9e11621c3991936b8f8588d0ee9cd089490742ec8859d25920921"
    assert link.hex() == "b22063e3f741cbe4028b01604f3036b90c9f88b88787dde63461c28318392fee"


def head(seq: int) -> Head:
    return Head(seq, bytes([seq]) * 32)


def test_a_half_written_anchor_is_dropped_and_the_next_follows_the_last_whole_one(tmp_path: Path) -> None:
    now = clock.now()
    first = Writer(tmp_path, keys.signing()).write(head(1), now)
    path = tmp_path / anchors.files(tmp_path)[0]
    with path.open("ab") as file:
        file.write(b'{"v":1,"chain"')
    Writer(tmp_path, keys.signing()).write(head(2), now)
    assert anchors._last(path)[-1].before == first and path.read_bytes().count(b"\n") == 2


def whole(folder: Path) -> list[anchors.Anchor]:
    """Every line, each of which follows from the one before."""
    found = [anchors.Anchor.read(line, file, number) for file, number, line in anchors.lines(folder, anchors.sizes(folder))]
    known = [one for one in found if one is not None]
    assert len(known) == len(found)
    assert [one.before for one in known] == [anchors.FIRST, *(one.digest for one in known[:-1])]
    return known


@pytest.mark.parametrize("left", [b"", b'{"v":1'])
def test_a_day_that_was_begun_on_a_full_disk_does_not_part_the_next_anchor_from_the_last(tmp_path: Path, left: bytes) -> None:
    now = clock.now()
    Writer(tmp_path, keys.signing()).write(head(1), now)
    (tmp_path / f"{now + timedelta(days=1):%Y-%m-%d}.anchors").write_bytes(left)
    Writer(tmp_path, keys.signing()).write(head(2), now + timedelta(days=1))
    assert [one.seq for one in whole(tmp_path)] == [1, 2]


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_an_anchor_that_does_not_reach_the_disk_whole_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    writer, now, write = Writer(tmp_path, keys.signing()), clock.now(), os.write

    def broken(handle: int, line: bytes = b"") -> int:
        if call == "write":
            return write(handle, line[:100])
        raise OSError(errno.EIO, "Input/output error")

    writer.write(head(1), now)
    for day in (0, 1):
        with monkeypatch.context() as patched, pytest.raises(OSError, match=r"\w"):
            patched.setattr(os, call, broken)
            writer.write(head(2), now + timedelta(days=day))
        writer.write(head(2 + day), now + timedelta(days=day))
    assert [one.seq for one in whole(tmp_path)] == [1, 2, 3]


@pytest.mark.parametrize("change", ["gone", "longer", "shorter"])
def test_anchors_that_somebody_else_touched_are_noticed_before_the_next_is_written(tmp_path: Path, change: str) -> None:
    writer = Writer(tmp_path, keys.signing())
    writer.write(head(1), clock.now())
    last = writer.write(head(2), clock.now())
    path = tmp_path / anchors.files(tmp_path)[0]
    text = path.read_bytes()
    match change:
        case "gone":
            path.unlink()
        case "longer":
            path.write_bytes(text * 2)
        case "shorter":
            path.write_bytes(text[: len(text) // 2])
    with pytest.raises(AnchorsLost):
        writer.write(head(3), clock.now())
    writer.write(head(3), clock.now())
    assert anchors._last(path)[-1].before == last, "what is missing stays visible"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "anchored", "trouble"),
    [
        ({}, None, ""),
        ({"anchor": "ab" * 32}, None, "the anchors are gone"),
        ({"anchor": "ab" * 32}, 1, "the anchors do not end with what was written last"),
        ({}, 9, "the chain is shorter than what was anchored"),
    ],
)
def test_anchors_that_do_not_fit_are_told_at_the_start(
    tmp_path: Path, settings, state: dict[str, str], anchored: int | None, trouble: str
) -> None:
    settings.AUDIT_ANCHORS = tmp_path
    Sealing.objects.update(**state)
    if anchored is not None:
        Writer(tmp_path, keys.signing()).write(head(anchored), clock.now() - timedelta(minutes=1))
    keeping.Anchoring().begin(Head())
    assert Sealing.objects.get().trouble == trouble


@pytest.mark.django_db
def test_a_folder_that_cannot_be_written_is_told_and_the_sealer_lives(tmp_path: Path, settings) -> None:
    (tmp_path / "file").touch()
    settings.AUDIT_ANCHORS = tmp_path / "file" / "below"
    keeping.Anchoring().begin(Head())
    assert "cannot be" in Sealing.objects.get().trouble


@pytest.mark.django_db
def test_a_folder_that_stays_unwritable_is_one_trouble_and_asks_for_a_check_when_it_is_over(tmp_path: Path, settings) -> None:
    settings.AUDIT_ANCHORS = tmp_path / "file" / "below"
    (tmp_path / "file").touch()
    anchoring = keeping.Anchoring()
    anchoring.anchor(Head())
    begun = Sealing.objects.get().trouble_at
    anchoring.anchor(Head())
    assert Sealing.objects.get().trouble_at == begun
    (tmp_path / "file").unlink()
    anchoring.anchor(Head())
    assert Sealing.objects.get().trouble_at > begun
