"""A manipulation of anchored events is found, by whomever it was made; and what was not touched is good."""

import itertools
import json
import re
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from audit import anchors, keys, verifying
from audit.anchors import Writer
from audit.sealing import Head
from audit.verifying import Asked
from benchmarks import tampering
from tests.audit.chain import EVENTS, FIRST_DAY, TRANSACTIONS, Chain


def test_what_nobody_touched_is_good(chain: Chain) -> None:
    with chain.tampered() as cursor:
        seen = chain.check(cursor)
    assert (seen.verdict, seen.findings) == ("good", [])
    assert (seen.links, seen.events, seen.anchors, seen.anchored_seq) == (EVENTS, EVENTS, TRANSACTIONS + 1, EVENTS)
    assert (seen.unsealed, seen.unanchored) == (0, 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tamper", sorted(set(tampering.ALL), key=lambda one: one.__name__), ids=lambda one: one.__name__)
def test_a_superuser_without_triggers_changes_nothing_unfound(chain: Chain, tamper: tampering.Tampering, seed: int) -> None:
    with chain.tampered() as cursor:
        said = tamper(cursor, Random(seed))
        seen = chain.check(cursor)
    assert seen.verdict == "broken" and seen.findings, said


@pytest.mark.parametrize("change", tampering._SETS)
def test_no_column_of_an_event_is_left_out(chain: Chain, change: str) -> None:
    with chain.tampered() as cursor:
        cursor.execute(f"UPDATE audit_event SET {change} WHERE id = 17")  # noqa: S608 -- a list of columns
        seen = chain.check(cursor)
    assert [one.code for one in seen.findings] == ["event.changed"]


def test_the_first_broken_link_is_told_with_what_where_and_when(chain: Chain) -> None:
    with chain.tampered() as cursor:
        cursor.execute("SELECT seq, event_id FROM audit_link WHERE seq = 23")
        seq, event = cursor.fetchone() or (0, 0)
        cursor.execute("UPDATE audit_event SET actor_name = 'Somebody else' WHERE id = %s", [event])
        first = chain.check(cursor).findings[0]
    assert first.sentence == (
        f"Event {event} is not what was sealed: a column of it was changed."
        f" (link {seq}, event {event}, sealed 2026-11-28 17:00:00 UTC)"
    )


def test_a_gap_tells_which_links_are_gone(chain: Chain) -> None:
    with chain.tampered() as cursor:
        cursor.execute("DELETE FROM audit_link WHERE seq BETWEEN 8 AND 12")
        seen = chain.check(cursor)
    assert ("link.missing", "links 8 to 12") in [(one.code, one.where) for one in seen.findings]


def test_links_are_read_a_window_at_a_time(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(verifying, "WINDOW", 7)
    with chain.tampered() as cursor:
        now = FIRST_DAY + timedelta(days=4)
        seen = verifying.verify(cursor, chain.folder, Asked(), now=now, told=lambda done, whole: told.append((done, whole)))
    assert (seen.links, seen.found) == (EVENTS, 0)
    assert told[0] == (7, EVENTS) and told[-1] == (EVENTS, EVENTS)


def test_the_check_of_an_organisation_reads_its_events_alone_and_all_links(chain: Chain) -> None:
    mine, other = chain.organisations
    with chain.tampered() as cursor:
        cursor.execute("UPDATE audit_event SET reason = 'x' WHERE organisation_id = %s", [other])
        seen, whole = (chain.check(cursor, asked=Asked(organisation=one)) for one in (mine, other))
        assert (seen.verdict, seen.events, seen.links) == ("good", EVENTS // 2, EVENTS)
        assert (whole.verdict, whole.found) == ("broken", EVENTS // 2)
        cursor.execute("UPDATE audit_event SET organisation_id = %s WHERE organisation_id = %s", [other, mine])
        assert chain.check(cursor, asked=Asked(organisation=mine)).verdict == "broken", "moved to another one"


def test_a_check_since_a_moment_leaves_out_what_was_sealed_before(chain: Chain) -> None:
    day = FIRST_DAY + timedelta(days=2)
    with chain.tampered() as cursor:
        cursor.execute("UPDATE audit_event SET reason = 'x' WHERE id = (SELECT event_id FROM audit_link WHERE seq = 3)")
        seen = chain.check(cursor, asked=Asked(since=day))
        assert (seen.verdict, seen.first, seen.links) == ("good", 31, 30)
        cursor.execute("UPDATE audit_event SET reason = 'x' WHERE id = (SELECT event_id FROM audit_link WHERE seq = 40)")
        assert chain.check(cursor, asked=Asked(since=day)).verdict == "broken"


def test_what_waits_to_be_sealed_is_counted_with_its_age_and_after_a_minute_the_check_is_incomplete(chain: Chain) -> None:
    last = FIRST_DAY + timedelta(hours=8 * (TRANSACTIONS - 1))
    for age, verdict in ((9, "good"), (61, "incomplete")):
        with chain.tampered() as cursor:
            cursor.execute(
                "INSERT INTO audit_event (at, organisation_id, actor_name, action, object_type, object_id, reason, facts)"
                " VALUES (%s, gen_random_uuid(), 'x', 'x', 'x', 'x', '', '{}')",
                [last + timedelta(seconds=11 - age)],
            )
            seen = chain.check(cursor)
        assert (seen.verdict, seen.unsealed) == (verdict, 1)
        assert seen.oldest_unsealed is not None and seen.at - seen.oldest_unsealed == timedelta(seconds=age)


def first_file(folder: Path) -> Path:
    return folder / anchors.files(folder)[0]


def last_file(folder: Path) -> Path:
    return folder / anchors.files(folder)[-1]


def without_line(path: Path, number: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[number]
    path.write_bytes(b"".join(lines))


def edited(path: Path, number: int) -> None:
    lines = path.read_bytes().splitlines()
    body = json.loads(lines[number])
    text = lines[number].replace(f'"hash":"{body["hash"]}"'.encode(), f'"hash":"{"0" * 64}"'.encode())
    path.write_bytes(b"\n".join([*lines[:number], text, *lines[number + 1 :]]) + b"\n")


def renumbered(path: Path, number: bytes) -> None:
    path.write_bytes(re.sub(rb'"seq":\d+', b'"seq":' + number, path.read_bytes(), count=1))


def forged(folder: Path) -> None:
    """A line more, with somebody else's key."""
    writer = Writer(folder, keys._private("somebody else's secret, long enough"))
    writer.write(Head(EVENTS, bytes(32)), FIRST_DAY + timedelta(days=5))


ANCHORS = {
    "the whole folder": (lambda folder: [path.unlink() for path in folder.iterdir()], "anchor.none"),
    "the first day": (lambda folder: first_file(folder).unlink(), "anchor.start"),
    "a day between": (lambda folder: (folder / anchors.files(folder)[1]).unlink(), "anchor.order"),
    "a line": (lambda folder: without_line(first_file(folder), 1), "anchor.order"),
    "what a line says": (lambda folder: edited(first_file(folder), 1), "anchor.order"),
    "what the last line says": (lambda folder: edited(last_file(folder), -1), "anchor.signature"),
    "a line that is none": (
        lambda folder: first_file(folder).write_bytes(first_file(folder).read_bytes() + b"{}\n"),
        "anchor.line",
    ),
    "a number that is none": (lambda folder: renumbered(first_file(folder), b"1e999"), "anchor.line"),
    "a line more": (forged, "anchor.signature"),
    "the newest line": (lambda folder: without_line(last_file(folder), -1), "anchor.mark"),
}


@pytest.mark.parametrize("what", ANCHORS)
def test_a_change_to_the_anchors_is_found(chain: Chain, tmp_path: Path, what: str) -> None:
    change, code = ANCHORS[what]
    folder = chain.copied(tmp_path / "copy")
    with chain.tampered() as cursor:
        mark = chain.check(cursor, folder=folder).mark
        change(folder)
        seen = chain.check(cursor, folder=folder, asked=Asked(mark=mark))
    assert seen.verdict == "broken" and code in [one.code for one in seen.findings]


def test_anchors_are_linked_across_days_and_only_their_owner_reads_them(chain: Chain) -> None:
    names = anchors.files(chain.folder)
    assert len(names) > 3
    for earlier, later in itertools.pairwise(names):
        before, first = anchors._last(chain.folder / earlier)[-1], (chain.folder / later).read_bytes().splitlines()[0]
        found = anchors.Anchor.read(first, later, 1)
        assert found is not None and found.before == before.digest and found.signed_by(keys.known())
    assert {(chain.folder / name).stat().st_mode & 0o777 for name in names} == {0o600}
