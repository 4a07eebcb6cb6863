"""Checks that people ask for and that come every night: run by a worker, kept, and told when something is not as it was."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import Error, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from audit import anchors, keeping, keys, standing
from audit.models import Event, Sealing
from audit.sealing import Head, Sealer
from audit.verifying import Asked, verify
from foundation import clock
from foundation.errors import NotPermitted
from notices.models import Notice, Receipt
from outbox.models import Message
from oversight import checks, telling
from oversight.models import Check
from tests.audit.chain import seal, write
from tests.factories import make_actor, make_laboratory, make_organisation, make_user


@pytest.fixture
def folder(tmp_path: Path, settings) -> Path:
    settings.AUDIT_ANCHORS = tmp_path / "anchors"
    return tmp_path / "anchors"


def working(folder: Path) -> None:
    """As the sealer leaves it: everything sealed and anchored."""
    writer = anchors.Writer(folder, keys.signing())
    writer.write(Head(), clock.now())
    head = seal().head
    last = writer.write(head, clock.now())
    Sealing.objects.update(looked_at=clock.now(), swept=True, anchored_at=clock.now(), anchored_seq=head.seq, anchor=last)


@pytest.fixture
def sealed(empty: psycopg.Cursor, folder: Path) -> Path:
    """Five events, sealed and anchored."""
    write(5)
    working(folder)
    return folder


def asked() -> Check:
    check = checks.ask(make_actor(role=Role.AUDITOR, organisation=make_laboratory()))
    checks.run(check.pk)
    check.refresh_from_db()
    return check


def test_a_check_is_run_once_kept_and_says_what_it_read(sealed: Path) -> None:
    check = asked()
    assert (check.state, check.seen["links"], check.seen["anchors"], check.seen["findings"]) == ("good", 5, 2, [])
    version = check.version
    checks.run(check.pk)
    check.refresh_from_db()
    assert check.version == version, "a second delivery does nothing"
    assert Event.objects.filter(action="audit.check_asked", object_id=str(check.pk)).exists()


def test_the_next_check_misses_an_anchor_that_a_good_one_has_seen(sealed: Path) -> None:
    asked()
    path = sealed / anchors.files(sealed)[-1]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    Sealing.objects.update(anchor="")  # whoever owns the database can do that, too
    again = asked()
    assert again.state == "broken" and "anchor.mark" in [one["code"] for one in again.seen["findings"]]


def test_a_broken_chain_is_told_to_every_auditor_and_director_and_stands_on_their_pages(
    sealed: Path, empty: psycopg.Cursor
) -> None:
    laboratory = make_laboratory()
    people = {role: make_user(role=role, organisation=laboratory) for role in (Role.AUDITOR, Role.DIRECTOR, Role.ANALYST)}
    empty.execute("UPDATE audit_event SET reason = 'another' WHERE id = (SELECT min(id) FROM audit_event)")
    check = asked()
    assert (check.state, check.seen["findings"][0]["code"]) == ("broken", "event.changed")
    assert Notice.objects.get(kind="audit.broken").facts["words"].startswith("Event ")
    assert {one.user for one in Receipt.objects.all()} >= {people[Role.AUDITOR], people[Role.DIRECTOR]}
    assert not Receipt.objects.filter(user=people[Role.ANALYST]).exists()
    for role, user in people.items():
        client = Client()
        client.force_login(user)
        page = client.get(reverse("notifications")).content.decode()
        assert ("The audit trail is not as it was sealed." in page) == (role != Role.ANALYST)
    page = client_of(people[Role.AUDITOR]).get(reverse("audit-chain")).content.decode()
    assert "is not what was sealed: a column of it was changed." in page


@pytest.mark.django_db
def test_a_broken_chain_stands_on_top_until_a_check_is_good_and_checks_that_never_end_are_told(folder: Path) -> None:
    director = make_user(role=Role.DIRECTOR, organisation=make_laboratory())
    working(folder)

    def ended(state: str, ago: timedelta) -> str:
        Check.objects.create(asked_by_name="by itself", asked_at=clock.now() - ago)
        Check.objects.filter(state="waiting").update(state="running")
        Check.objects.filter(state="running").update(state=state, ended_at=clock.now() - ago)
        return client_of(director).get(reverse("notifications")).content.decode()

    assert "could not be checked" in ended("failed", timedelta(days=3))
    telling.watch()
    assert Message.objects.get(topic=telling.TOPIC).payload["words"] == telling.unchecked()
    assert "could not be checked" not in ended("incomplete", timedelta(hours=3))
    assert "is not as it was sealed" in ended("broken", timedelta(hours=2))
    assert "is not as it was sealed" in ended("incomplete", timedelta(hours=1))
    assert "is not as it was sealed" not in ended("good", timedelta())


@pytest.mark.django_db
def test_a_check_of_a_clock_that_ran_ahead_takes_no_nights_check_away(monkeypatch: pytest.MonkeyPatch) -> None:
    Check.objects.create(asked_by_name="by itself", asked_at=clock.now() + timedelta(days=400))
    Check.objects.update(state="failed", ended_at=clock.now())
    checks.watch()
    assert Check.objects.filter(state="waiting").count() == 1


def client_of(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_command_says_it_in_words_as_json_and_by_its_status(
    sealed: Path, empty: psycopg.Cursor, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("verify_audit")
    assert capsys.readouterr().out.startswith("GOOD: ")
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit", "--since", "2100-01-01")
    assert ended.value.code == 2 and capsys.readouterr().out.startswith("NOTHING was checked")
    empty.execute("DELETE FROM audit_event WHERE id = (SELECT event_id FROM audit_link WHERE seq = 2)")
    with pytest.raises(SystemExit) as ended:
        call_command("verify_audit", "--json")
    said = json.loads(capsys.readouterr().out)
    assert (ended.value.code, said["verdict"], said["findings"][0]["code"]) == (1, "broken", "event.missing")
    empty.execute("UPDATE audit_event SET at = at - interval '2 minutes'")
    empty.execute("DELETE FROM audit_link")
    with pytest.raises(SystemExit):
        call_command("verify_audit", "--since", "2100-01-01")
    assert "not sealed: 4, the oldest for" in capsys.readouterr().out


def test_a_database_restored_from_before_its_newest_anchors_says_so_and_goes_on_saying_so(
    sealed: Path, empty: psycopg.Cursor
) -> None:
    def found(**more: datetime) -> set[str]:
        with connection.cursor() as cursor:
            return {one.code for one in verify(cursor, sealed, Asked(**more), now=clock.now()).findings}

    empty.execute("DELETE FROM audit_event WHERE id IN (SELECT event_id FROM audit_link WHERE seq > 3)")
    empty.execute("DELETE FROM audit_link WHERE seq > 3")
    empty.execute("UPDATE audit_sealing SET anchor = ''")  # as it was before the first anchor
    assert found() == {"chain.short"}
    restored, writer = clock.now(), anchors.Writer(sealed, keys.signing())
    writer.write(Sealer.take_up().head, clock.now())
    write(4)
    writer.write(seal().head, clock.now())
    assert found() == {"anchor.back", "anchor.differs"}
    assert found(since=restored) == {"anchor.back", "anchor.differs"}


@pytest.mark.django_db
@pytest.mark.parametrize("role", [role for role in Role if role not in (Role.AUDITOR, Role.DIRECTOR)])
def test_nobody_else_asks_for_a_check(role: Role) -> None:
    with pytest.raises(NotPermitted):
        checks.ask(make_actor(role=role, organisation=make_organisation()))


@pytest.mark.django_db
def test_two_who_ask_at_once_get_one_check() -> None:
    ask: Callable[[], Check] = lambda: checks.ask(make_actor(role=Role.DIRECTOR, organisation=make_laboratory()))  # noqa: E731
    assert ask().pk == ask().pk and Message.objects.filter(topic=checks.TOPIC).count() == 1


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(clock, "_source", lambda: moment)


@pytest.mark.django_db
def test_every_night_brings_one_check_whenever_the_platform_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    evening = datetime(2026, 12, 1, 20, tzinfo=UTC)
    for hours, number in ((0, 1), (1, 1), (5, 1), (6, 2), (7, 2), (30, 3)):
        at(monkeypatch, evening + timedelta(hours=hours))
        checks.watch()
        Check.objects.filter(state="waiting").update(state="failed", ended_at=clock.now())
        assert Check.objects.count() == number, hours


@pytest.mark.django_db
def test_a_check_whose_worker_died_or_whose_message_was_lost_is_handed_out_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = clock.now()
    check = checks.ask(make_actor(role=Role.DIRECTOR, organisation=make_laboratory()))
    claimed = checks._claimed(check.pk)
    assert claimed is not None and checks._claimed(check.pk) is None
    at(monkeypatch, start + timedelta(minutes=3))
    checks.watch()
    assert Message.objects.filter(topic=checks.TOPIC).count() == 2
    checks.run(check.pk)
    check.refresh_from_db()
    assert check.state in ("good", "incomplete")


@pytest.mark.django_db
def test_trouble_with_the_anchors_is_checked_at_once_told_once_a_day_and_ends_with_a_good_check(
    folder: Path, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks
) -> None:
    make_user(role=Role.DIRECTOR, organisation=make_laboratory())
    working(folder)
    Check.objects.create(asked_by=None, asked_by_name="by itself", asked_at=clock.now())
    Check.objects.update(state="failed", ended_at=clock.now())
    keeping.Anchoring()._trouble("the anchors are gone")
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            telling.watch()
            checks.watch()
    assert Notice.objects.filter(kind="audit.trouble").count() == 1
    check = Check.objects.get(state="waiting")
    checks.run(check.pk)
    check.refresh_from_db()
    assert (check.state, Sealing.objects.get().trouble) == ("good", "")


@pytest.mark.django_db
def test_a_sealer_that_does_not_work_and_events_that_wait_are_alarms(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not work" in standing.standing().alarms[0]
    working(folder)
    before = standing.standing()
    assert before.alarms == []
    source = clock._source
    at(monkeypatch, clock.now() - timedelta(minutes=2))
    write()
    monkeypatch.setattr(clock, "_source", source)
    Sealing.objects.update(held_up="database process 17, whose transaction has been open for 90 s")
    now = standing.standing()
    assert now.unsealed == before.unsealed + 1 and "behind database process 17" in now.alarms[0]


@pytest.mark.django_db
@pytest.mark.parametrize("change", ["UPDATE oversight_check SET state = 'good'", "DELETE FROM oversight_check"])
def test_what_a_check_found_cannot_be_changed(change: str) -> None:
    Check.objects.create(asked_by_name="by itself", asked_at=clock.now())
    Check.objects.update(state="running")
    Check.objects.update(state="broken", ended_at=clock.now())
    with pytest.raises(Error), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)


@pytest.mark.django_db
def test_the_page_says_what_there_is_when_there_is_nothing_and_follows_a_check() -> None:
    client = client_of(make_user(role=Role.AUDITOR, organisation=make_laboratory()))
    page = client.get(reverse("audit-chain")).content.decode()
    assert "There was no check yet." in page and "No check has found the chain good yet." in page
    assert client.post(reverse("audit-chain-check")).status_code == 302
    Check.objects.update(state="running", started_at=clock.now(), seen_at=clock.now(), done=20_000, whole=80_000)
    part = client.get(reverse("audit-chain-live")).content.decode()
    assert "20,000 of 80,000 links" in part and 'value="25"' in part and "every 2s" in part


@pytest.mark.django_db
def test_a_good_check_of_a_clock_that_ran_ahead_hides_no_later_broken_one() -> None:
    for state, ahead in (("good", timedelta(days=400)), ("broken", timedelta())):
        check = Check.objects.create(asked_by_name="by itself", asked_at=clock.now() + ahead)
        Check.objects.filter(pk=check.pk).update(state="running")
        Check.objects.filter(pk=check.pk).update(state=state, ended_at=clock.now() + ahead)
    newest = checks.newest("good", "broken")
    assert newest is not None and newest.state == "broken"
    assert [one.state for one in checks.history()] == ["broken", "good"]
