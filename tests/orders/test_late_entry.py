"""An order that was taken on paper is entered with its true times; nothing pretends to have happened earlier."""

from datetime import timedelta

import pytest
from django.db import Error, connection, transaction

from accounts.roles import Role
from audit.models import Event
from foundation import clock
from orders import services, turnaround, urgency
from orders.errors import InvalidOrder
from orders.models import LateEntry, Order
from orders.requests import PatientDetails
from tests import factories
from tests.orders.downtime import Down

pytestmark = pytest.mark.django_db


def test_its_clocks_count_from_the_request_and_its_own_times_are_those_of_its_entry() -> None:
    down = Down()
    order = down.enter(down.open(), priority="urgent")  # results within two hours of three hours ago
    kept = LateEntry.objects.get(order=order)
    assert order.result_due == down.at(hours=3) + timedelta(minutes=120) and order.promised_at == down.at(hours=3)
    assert order.placed_at >= down.now and order.accepted_at >= down.now and kept.entered_at == order.placed_at
    assert (kept.taken_by, kept.taken_by_name, kept.entered_by) == (down.person, "", down.person)
    events = Event.objects.filter(object_id=str(order.pk))
    assert not events.filter(at__lt=down.now).exists()
    assert events.get(action="order.entered_late").facts["requested_at"] == down.at(hours=3).isoformat()


def test_it_is_late_the_moment_it_is_entered_and_says_so() -> None:
    down = Down()
    order = down.enter(down.open(), priority="stat", stat_reason="suspected sepsis")
    assert order.risk == "late" and Event.objects.filter(object_id=str(order.pk), action="order.late").exists()


def test_its_specimen_is_received_when_it_truly_came_and_a_person_who_is_no_colleague_is_kept_as_a_name() -> None:
    down = Down()
    order = down.enter(down.open(), {"received_at": down.at(hours=2), "condition": "haemolysed", "taken_by": "Nurse on ward 3"})
    order.specimen.refresh_from_db()
    assert (order.specimen.received_at, order.specimen.condition) == (down.at(hours=2), "haemolysed")
    assert "Entered late after downtime D1" in order.specimen.late_reason
    assert LateEntry.objects.get(order=order).taken_by_words == "Nurse on ward 3"


def test_what_cannot_be_is_said_at_its_field() -> None:
    down = Down()
    downtime, other = down.open(), Down().open()
    wrong = {
        "requested_at": ({"requested_at": down.now + timedelta(hours=1)}, {"requested_at": down.at(hours=5)}),
        "received_at": ({"received_at": down.at(hours=3.6)}, {"received_at": down.now + timedelta(hours=1)}),
        "taken_by": ({"taken_by": " "}, {"taken_by": "x" * 121}),
        "late_reason": ({"reason": "because"},),
        "late_words": ({"reason": "other"},),
        "downtime": ({"downtime": "D7"}, {"downtime": ""}, {"downtime": str(other.pk)}),
        "condition": ({"received_at": down.at(hours=2), "condition": "fine"},),
    }
    for field, cases in wrong.items():
        for case in cases:
            with pytest.raises(InvalidOrder) as refused:
                down.enter(downtime, case)
            assert field in refused.value.fields, case
    assert not Order.objects.filter(performing_laboratory=down.laboratory).exists()


def test_late_entries_are_taken_as_long_as_its_laboratory_said() -> None:
    down = Down(began_at=clock.now() - timedelta(days=5), ended_at=clock.now() - timedelta(days=4), entry_days=3)
    with pytest.raises(InvalidOrder) as refused:
        down.enter(down.open(), {"requested_at": down.at(days=4.5)})
    assert "were taken until" in refused.value.fields["downtime"][0]


def test_who_only_orders_enters_nothing_late() -> None:
    down = Down()
    downtime, analyst = down.open(), factories.make_actor(role=Role.ANALYST, organisation=down.laboratory)
    with pytest.raises(InvalidOrder) as refused:
        services.place(actor=analyst, request=down.request(downtime))
    assert "late" in refused.value.fields


def test_the_same_paper_entered_twice_is_one_order_and_with_another_time_another_content() -> None:
    down = Down()
    request = down.request(down.open(), placer_number="P-7")
    order = services.place(actor=down.accessioner, request=request)
    assert services.place(actor=down.accessioner, request=request) == order


def test_a_parked_one_counts_from_its_request_too_and_a_demotion_goes_back_to_it() -> None:
    down = Down()
    order = down.enter(down.open(), priority="asap")
    urgency.change_priority(order=order, priority="routine", reason="not that urgent", actor=down.director)
    order.refresh_from_db()
    assert order.promised_at == down.at(hours=3) and order.result_due == down.at(hours=3) + timedelta(minutes=720)


def test_turnaround_counts_it_from_the_true_time_in_the_period_of_the_request_and_can_leave_it_out() -> None:
    down = Down(began_at=clock.now() - timedelta(days=3), ended_at=clock.now() - timedelta(days=2))
    down.enter(down.open(), {"requested_at": down.at(days=2.5)})
    factories.make_order(intake=factories.make_ready_intake(test_version=down.test, variants=2))
    asked = {"actor": down.director, "laboratory": down.laboratory.pk}
    then = {"since": down.at(days=3), "until": down.at(days=2)}
    lately = {"since": down.at(days=1), "until": down.now + timedelta(days=1)}
    found = turnaround.report(**asked, **then)
    assert (found.counts.placed, found.counts.late_entries) == (1, 1)
    assert found.segments[1].wall[0].seconds >= 2.5 * 86_400 - 60  # accepted, and open ever since
    assert turnaround.report(**asked, **lately).counts.placed == 1
    assert turnaround.report(**asked, **then, late="without").counts.placed == 0
    assert turnaround.report(**asked, **then, late="only").counts.placed == 1


def test_the_database_refuses_what_the_code_refuses() -> None:
    down = Down()
    downtime = down.open()
    order = down.enter(downtime)
    other = factories.make_order(intake=factories.make_ready_intake(test_version=down.test, variants=2))
    columns = "order_id, organisation_id, downtime_id, requested_at, taken_by_name, reason, words, entered_by_id, entered_at"
    same = "organisation_id, downtime_id, requested_at, 'x', reason, '', entered_by_id, entered_at"
    for words, pk in (
        ("UPDATE orders_lateentry SET requested_at = now() WHERE order_id = %s", order.pk),
        ("DELETE FROM orders_lateentry WHERE order_id = %s", order.pk),
        (f"INSERT INTO orders_lateentry ({columns}) SELECT %s, {same} FROM orders_lateentry", other.pk),  # noqa: S608 -- our own
        ("UPDATE orders_order SET promised_at = accepted_at WHERE id = %s", order.pk),
        ("UPDATE orders_downtime SET began_at = now() WHERE id = %s", downtime.pk),
        ("DELETE FROM orders_downtime WHERE id = %s", downtime.pk),
    ):
        with pytest.raises(Error), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(words, [pk])


def test_an_identity_that_has_to_be_settled_first_keeps_the_request_as_its_beginning() -> None:
    down = Down()
    first = down.enter(down.open())
    born = first.patient.birth_date
    said = PatientDetails(mrn=first.stated_mrn, family_name="Another", given_name="Name", birth_date=born, sex="female")
    parked = down.enter(first.late_entry.downtime, patient=said, priority="urgent")
    assert parked.state == "submitted" and parked.result_due is None
    services.accept(order=parked, actor=down.director)
    assert parked.result_due == down.at(hours=3) + timedelta(minutes=120)
