"""Half, nearly and wholly used time is told once, to whom the rules name; a new promise arms it again, a hold stops it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction

from accounts.models import Membership
from accounts.roles import Role
from accounts.services import actor_for
from foundation import clock
from foundation.errors import NotPermitted
from notices import endpoints
from notices.models import Delivery, Notice, Receipt
from orders import escalation, escalation_rules, services, urgency
from orders.errors import InvalidOrder
from orders.models import Escalation, EscalationRule, Order
from outbox import services as outbox
from tests.engine_queue.rows import in_thread_of_its_own
from tests.factories import make_actor, make_laboratory, make_order, make_ready_intake, make_test_version, make_user


@pytest.fixture
def at(monkeypatch):
    """Sets the clock to so many minutes after the start."""
    start = clock.now()

    def set_to(minutes: float) -> None:
        monkeypatch.setattr(clock, "_source", lambda: start + timedelta(minutes=minutes))

    set_to(0)
    return set_to


@pytest.fixture
def order(db, at) -> Order:
    """An urgent order: results due in 120 minutes, the report in 480."""
    return placed("urgent")


def placed(priority: str) -> Order:
    return make_order(intake=make_ready_intake(test_version=make_test_version(), variants=1), variants=1, priority=priority)


def told(order: Order) -> list[tuple[int, str, int]]:
    return list(Escalation.objects.filter(order=order).order_by("id").values_list("promise", "clock", "level"))


def swept(at, *minutes: float) -> None:
    for minute in minutes:
        at(minute)
        escalation.sweep()


def director(order: Order):
    return make_actor(role=Role.DIRECTOR, organisation=order.performing_laboratory)


def test_each_level_of_each_clock_is_told_once(order, at):
    swept(at, 0, 59, 60, 61, 96, 97, 120, 200, 240, 384, 480, 900)
    assert told(order) == [
        (1, "result", 50), (1, "result", 80), (1, "result", 100), (1, "report", 50), (1, "report", 80), (1, "report", 100),
    ]  # fmt: skip


def test_the_sweep_looks_only_at_what_is_due_to_be_looked_at(order, at, django_assert_max_num_queries):
    swept(at, 0)
    with django_assert_max_num_queries(3):
        escalation.sweep()


def test_who_looks_late_tells_the_highest_level_alone(order, at):
    swept(at, 130)
    assert told(order) == [(1, "result", 100)]


def test_a_promotion_arms_all_levels_from_its_own_time(order, at):
    swept(at, 65)
    urgency.change_priority(order=order, priority="asap", reason="worse", actor=director(order))  # due in 30 minutes from now
    swept(at, 66, 79, 81)
    assert told(order) == [(1, "result", 50), (2, "result", 50)]


def test_a_demotion_is_told_again_by_its_longer_time(order, at):
    swept(at, 100)
    urgency.change_priority(order=order, priority="routine", reason="better", actor=director(order))  # due after 720
    swept(at, 101, 359, 361)
    assert told(order) == [(1, "result", 80), (2, "result", 50)]


def test_nothing_is_told_on_hold_and_a_late_release_goes_on_where_it_stood(order, at):
    swept(at, 61)
    urgency.hold(order=order, reason="hold.input", actor=director(order))
    swept(at, 100, 500)
    assert told(order) == [(1, "result", 50)]
    urgency.release(order=order, actor=director(order))
    swept(at, 501, 534)
    assert told(order) == [(1, "result", 50)]
    swept(at, 536)  # 96 minutes without the hold
    assert told(order) == [(1, "result", 50), (1, "result", 80)]


def test_closed_orders_are_told_of_never_and_scored_ones_of_the_report_alone(order, at):
    cancelled = placed("urgent")
    services.cancel(actor=director(cancelled), order=cancelled, reason="twice", expected_edits=cancelled.edits)
    Order.objects.filter(pk=order.pk).update(state="in_analysis")
    Order.objects.filter(pk=order.pk).update(state="awaiting_review", scored_at=clock.now())
    swept(at, 130, 250)
    assert (told(cancelled), told(order)) == ([], [(1, "report", 50)])


def test_two_that_look_at_the_same_time_tell_it_once(clone_db, at, monkeypatch):
    """Even without the lock that keeps a second one out; and handed over twice, it is still one notice."""
    orders = [placed("urgent") for _ in range(3)]
    staff = make_user(role=Role.ANALYST, organisation=orders[0].performing_laboratory)
    at(100)
    monkeypatch.setattr(escalation, "alone", _everybody)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: in_thread_of_its_own(escalation.sweep), range(2)))
    escalation.sweep()
    assert [told(order) for order in orders] == [[(1, "result", 80)]] * 3
    found = Escalation.objects.get(order=orders[0])
    escalation_rules.deliver({"escalation": found.pk})
    assert Receipt.objects.filter(user=staff).count() == 1 and Notice.objects.count() == 3


class _everybody:
    def __init__(self, _: int) -> None: ...

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *error: object) -> None: ...


def whom(order: Order, clock_name: str = "result", level: int = 100) -> set[str]:
    people = escalation_rules.audience(order, clock=clock_name, level=level).in_app
    return set(Membership.objects.filter(user__in=people).values_list("role", flat=True))


def test_without_rules_those_who_can_do_something_are_told(order):
    laboratory = order.performing_laboratory
    for role in (Role.ANALYST, Role.REVIEWER, Role.DIRECTOR, Role.AUDITOR, Role.OPERATOR):
        make_user(role=role, organisation=laboratory)
    make_user(role=Role.ANALYST, organisation=make_laboratory())
    assert (whom(order, level=50), whom(order, level=80), whom(order)) == (set(), {"analyst"}, {"analyst", "director"})
    assert whom(order, "report") == {"reviewer", "director"}


def add(order: Order, **said):
    values = {"clock": "result", "level": "100", "priority": "", "channel": "in_app", "whom": Role.OPERATOR.value, **said}
    actor = said.pop("actor", None) or director(order)
    values.pop("actor", None)
    return escalation_rules.add(laboratory=order.performing_laboratory, said=values, actor=actor)


def test_rules_take_the_place_of_the_defaults_until_they_are_ended(order):
    laboratory = order.performing_laboratory
    for role in (Role.OPERATOR, Role.ANALYST):
        make_user(role=role, organisation=laboratory)
    rule = add(order)
    stat_only = add(order, priority="stat", whom="analyst")
    assert whom(order) == {"operator"}
    for one in (rule, stat_only):
        escalation_rules.end(rule=one, actor=director(order))
    assert "analyst" in whom(order)
    with pytest.raises(DatabaseError), transaction.atomic():
        EscalationRule.objects.update(level=50)


def test_a_person_is_named_by_address_and_told_by_mail_as_long_as_he_belongs_there(order):
    laboratory = order.performing_laboratory
    person = make_user(role=Role.ANALYST, organisation=laboratory)
    add(order, channel="email", whom=person.email)
    assert escalation_rules.audience(order, clock="result", level=100).email == {person.pk}
    person.memberships.update(ended_at=clock.now())
    assert escalation_rules.audience(order, clock="result", level=100).email == set()


def test_a_level_is_told_to_a_webhook_of_the_house_through_the_outbox(clone_db, at):
    order = placed("urgent")
    administrator = make_actor(role=Role.ADMINISTRATOR, organisation=order.performing_laboratory)
    endpoint, _ = endpoints.add(
        organisation=order.performing_laboratory, name="lis", url="https://lis.example/", actor=administrator
    )
    add(order, level="80", channel="webhook", whom=str(endpoint.pk))
    swept(at, 97)
    outbox.dispatch()
    delivery = Delivery.objects.select_related("notice").get()
    assert (delivery.channel, delivery.endpoint, delivery.state) == ("webhook", endpoint, "queued")
    assert delivery.notice.accession == order.accession


@pytest.mark.parametrize(
    "said",
    [{"clock": "x"}, {"level": "70"}, {"level": "²"}, {"priority": "soon"}, {"channel": "fax"}, {"whom": "stranger@example.org"},
     {"channel": "webhook", "whom": "analyst"}, {"whom": ""}],
)  # fmt: skip
def test_a_rule_that_names_nobody_or_nothing_is_refused(order, said):
    with pytest.raises(InvalidOrder):
        add(order, **said)


def test_only_the_director_of_the_laboratory_makes_rules(order):
    for actor in (
        make_actor(role=Role.ANALYST, organisation=order.performing_laboratory),
        make_actor(role=Role.DIRECTOR, organisation=make_laboratory()),
    ):
        with pytest.raises(NotPermitted):
            add(order, actor=actor)


def test_a_broken_channel_neither_aborts_nor_delays_what_it_speaks_of(clone_db, at, monkeypatch):
    order = placed("urgent")
    person = make_user(role=Role.DIRECTOR, organisation=order.performing_laboratory)
    add(order, level="80", channel="email", whom=person.email, actor=actor_for(person))
    at(100)

    def broken(_payload: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as away:
        away.setitem(outbox._handlers, escalation.TOPIC, broken)
        assert escalation.sweep() == 1
    assert (told(order), Delivery.objects.count()) == ([(1, "result", 80)], 0)
    at(120)
    outbox.dispatch()
    assert Delivery.objects.get().state == "queued"  # sending it is another process's work


def test_a_demotion_tells_the_requester(clone_db):
    order = placed("urgent")
    by = make_user(role=Role.DIRECTOR, organisation=order.performing_laboratory, name="Dr Dana")
    urgency.change_priority(order=order, priority="routine", reason="better", actor=actor_for(by))
    receipt = Receipt.objects.select_related("notice").get()
    assert (receipt.user_id, receipt.notice.accession) == (order.placed_by_id, order.accession)
    assert receipt.notice.facts == {"from": "urgent", "to": "routine", "by": "Dr Dana"}
