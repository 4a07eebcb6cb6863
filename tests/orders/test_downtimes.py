"""A downtime is written down, reconciled line by line by people, and closed when nothing of it is open."""

from datetime import timedelta

import pytest
from django.db import Error, connection, transaction

from accounts.roles import Role
from audit.models import Event
from foundation import clock
from foundation.errors import NotPermitted, Refused
from orders import services
from orders.downtimes import lines, records, stat_lists
from orders.errors import InvalidOrder
from orders.models import DowntimeLine, StatList
from tests import factories
from tests.forging import forge
from tests.orders.downtime import Down

pytestmark = pytest.mark.django_db


def kinds(downtime) -> list[str]:
    return sorted(DowntimeLine.objects.filter(downtime=downtime).values_list("kind", flat=True))


def before(down: Down, **changes):
    """An order that was in progress when it began."""
    order = factories.make_order(intake=factories.make_ready_intake(test_version=down.test, variants=2), **changes)
    forge(order, placed_at=down.at(hours=6), accepted_at=down.at(hours=6))
    return order


def test_it_lists_what_was_in_progress_and_what_the_last_stat_list_said(monkeypatch) -> None:
    down = Down()
    order, routine = before(down, priority="stat"), before(down)
    over = before(down)
    forge(over, state="reported", ended_at=down.at(hours=5))
    monkeypatch.setattr(clock, "_source", lambda: down.at(hours=4.01))
    [kept] = stat_lists.keep(down.director, [order])
    monkeypatch.undo()
    found = down.open()
    assert found.stat_list == kept and found.code == "D1"
    told = {(line.kind, line.order) for line in DowntimeLine.objects.filter(downtime=found)}
    assert told == {("in_progress", order), ("in_progress", routine), ("on_list", order)}


def test_a_late_entry_opens_its_lines_and_says_which_numbers_came_twice() -> None:
    down = Down()
    downtime = down.open()
    sent = factories.make_order(
        intake=factories.make_ready_intake(test_version=down.test, variants=2), placer_system="urn:his", placer_number="A 7"
    )
    down.enter(downtime, placer_number="A 7")
    down.enter(downtime, {"received_at": down.at(hours=2)})
    assert kinds(downtime) == ["entered_late", "entered_late", "no_specimen", "number_twice"]
    twice = DowntimeLine.objects.get(downtime=downtime, kind="number_twice")
    assert twice.other == sent and twice.words == "A 7"


def test_it_is_closed_by_somebody_when_people_have_ticked_every_line_with_a_note() -> None:
    down = Down()
    downtime = down.open(ended_at=None)
    down.enter(downtime)
    lines.add(actor=down.accessioner, downtime=downtime, kind="told", accession="", words="result of A7 to Dr Lee, 03:10")
    with pytest.raises(Refused, match="when the downtime ended"):
        records.close(actor=down.director, downtime=downtime, words="all done")
    records.end(actor=down.director, downtime=downtime, ended_at=down.at(hours=1))
    with pytest.raises(Refused, match="3 lines"):
        records.close(actor=down.director, downtime=downtime, words="all done")
    chosen = list(DowntimeLine.objects.filter(downtime=downtime).values_list("pk", flat=True))
    with pytest.raises(InvalidOrder):
        lines.tick(actor=down.accessioner, downtime=downtime, chosen=chosen, note=" ")
    assert lines.tick(actor=down.accessioner, downtime=downtime, chosen=chosen, note="compared with the paper") == 3
    records.close(actor=down.director, downtime=downtime, words="all done")
    downtime.refresh_from_db()
    assert (downtime.state, downtime.closed_by_id) == ("closed", down.director.id)
    with pytest.raises(InvalidOrder):
        down.enter(downtime)
    told = list(Event.objects.filter(object_id=str(downtime.pk)).order_by("id").values_list("action", flat=True))
    assert told == ["downtime.opened", "downtime.noted", "downtime.ended", "downtime.ticked", "state.closed"]


def test_one_by_mistake_is_withdrawn_unless_an_order_belongs_to_it() -> None:
    down = Down()
    mistaken, real = down.open(), down.open()
    down.enter(real)
    records.withdraw(actor=down.director, downtime=mistaken, words="it was the one of yesterday")
    with pytest.raises(Refused):
        records.withdraw(actor=down.director, downtime=real, words="no")
    assert (mistaken.number, real.number) == (1, 2)


def test_a_laboratorys_director_or_operator_writes_it_down_and_its_accessioner_reconciles_it() -> None:
    down = Down()
    downtime = down.open()
    operator = factories.make_actor(role=Role.OPERATOR, organisation=down.laboratory)
    began = down.at(hours=1)
    records.open_downtime(actor=operator, laboratory_id=down.laboratory.pk, what="scoring", words="no power", began_at=began)
    stranger = factories.make_actor(role=Role.DIRECTOR, organisation=factories.make_laboratory())
    for actor in (down.accessioner, stranger):
        with pytest.raises(NotPermitted):
            records.close(actor=actor, downtime=downtime, words="done")
    for actor in (operator, stranger):
        with pytest.raises(NotPermitted):
            lines.tick(actor=actor, downtime=downtime, chosen=[1], note="done")


def test_what_cannot_be_is_said_at_its_field() -> None:
    down = Down()
    for field, values in (
        ("began_at", {"began_at": clock.now() + timedelta(hours=1)}),
        ("began_at", {"began_at": down.at(days=61)}),
        ("ended_at", {"ended_at": down.at(hours=5)}),
        ("ended_at", {"ended_at": clock.now() + timedelta(hours=1)}),
        ("what", {"what": "nothing"}),
        ("words", {"words": " "}),
        ("entry_days", {"entry_days": 0}),
    ):
        with pytest.raises(InvalidOrder) as refused:
            down.open(**values)
        assert field in refused.value.fields


def test_a_window_that_was_cut_off_keeps_what_it_showed(monkeypatch) -> None:
    down = Down()
    order = factories.make_order(intake=factories.make_ready_intake(test_version=down.test, variants=2), priority="stat")
    for minutes in (240, 239, 238):  # a window that is read on
        monkeypatch.setattr(clock, "_source", lambda ago=minutes: down.at(minutes=ago))
        [first] = stat_lists.keep(down.accessioner, [order])
    monkeypatch.undo()
    assert StatList.objects.get().read_at == down.at(minutes=238)
    assert stat_lists.keep(down.accessioner, [])[0] != first
    first.refresh_from_db()
    assert first.orders == [order.pk]


def test_the_database_closes_none_with_an_open_line_and_changes_no_tick() -> None:
    down = Down()
    downtime = down.open()
    down.enter(downtime)
    line = DowntimeLine.objects.filter(downtime=downtime).first()
    closing = "UPDATE orders_downtime SET state = %s, closed_at = now(), closed_by_id = %s, closing_words = 'x' WHERE id = %s"
    refuse(closing, "closed", down.person.pk, downtime.pk)
    refuse(closing, "withdrawn", down.person.pk, downtime.pk)
    refuse("DELETE FROM orders_downtimeline WHERE id = %s", line.pk)
    lines.tick(actor=down.accessioner, downtime=downtime, chosen=[line.pk], note="compared")
    refuse("UPDATE orders_downtimeline SET note = 'other' WHERE id = %s", line.pk)
    refuse("UPDATE orders_downtimeline SET ticked_at = now(), note = '' WHERE id <> %s", line.pk)


def refuse(words: str, *values: object) -> None:
    with pytest.raises(Error), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(words, values)


def test_what_is_found_while_it_is_closed_keeps_it_open_and_stays_in_the_list() -> None:
    down = Down()
    downtime = down.open()
    down.enter(downtime, {"received_at": down.at(hours=2)}, placer_number="N1")
    services.place(
        actor=down.accessioner,
        request=factories.make_request(
            factories.make_ready_intake(test_version=down.test, variants=2), placer_system="urn:his", placer_number="N1"
        ),
    )
    chosen = list(DowntimeLine.objects.filter(downtime=downtime).values_list("pk", flat=True))
    lines.tick(actor=down.accessioner, downtime=downtime, chosen=chosen, note="compared")
    with pytest.raises(Refused, match="1 line"):
        records.close(actor=down.director, downtime=downtime, words="done")
    assert "number_twice" in kinds(downtime)
