"""Who takes urgency from another person's order does not hold it alone by that, and its requester is told until he has read it."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import Error, IntegrityError, transaction

from accounts.models import Membership, User
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from foundation import clock
from foundation.actor import Actor, process
from foundation.errors import NotPermitted, Refused
from orders import demotions, holding, selectors, services, urgency
from orders.models import Demotion, HoldRequest, Order
from tests.factories import make_actor, make_order, make_ready_intake, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def order() -> Order:
    return placed("stat")


def placed(priority: str) -> Order:
    """By a director, who may change its priority himself."""
    intake = make_ready_intake()
    director = make_actor(role=Role.DIRECTOR, organisation=intake.ordering_organisation)
    return make_order(intake=intake, actor=director, priority=priority)


def somebody(order: Order, role: Role = Role.DIRECTOR) -> Actor:
    return make_actor(role=role, organisation=order.performing_laboratory)


def requester(order: Order) -> Actor:
    return actor_for(User.objects.get(pk=order.placed_by_id))


def change(order: Order, priority: str, actor: Actor | None = None, reason: str = "no fever") -> None:
    urgency.change_priority(order=order, priority=priority, reason=reason, actor=actor or somebody(order))


def hold(order: Order, actor: Actor | None = None, second: Actor | None = None) -> None:
    urgency.hold(order=order, reason="hold.input", actor=actor or somebody(order), second=second)


def standing(order: Order) -> list[tuple[str, str]]:
    return list(Demotion.objects.filter(order=order, undone_at=None).order_by("id").values_list("before", "after"))


def newest(order: Order) -> Demotion:
    return Demotion.objects.filter(order=order).latest("id")


def test_who_demotes_a_stat_order_does_not_hold_it_alone_nor_does_anybody_else(order: Order) -> None:
    first = somebody(order)
    change(order, "urgent", first)
    for one in (first, somebody(order)):
        with pytest.raises(urgency.TwoPeople):
            hold(order, one)
    assert Order.objects.get().hold_reason == ""


def test_a_second_step_down_or_half_the_way_up_gives_nothing_back(order: Order) -> None:
    for priority in ("asap", "routine", "urgent"):
        change(order, priority)
        with pytest.raises(urgency.TwoPeople):
            hold(order)
    assert standing(order) == [("stat", "asap"), ("asap", "routine")]


@pytest.mark.parametrize("priority", ["routine", "urgent"])
def test_its_requester_holds_it_alone_and_so_do_two_people(order: Order, priority: str) -> None:
    change(order, priority)
    for alone, second in ((requester(order), None), (somebody(order), somebody(order)), (somebody(order), requester(order))):
        hold(order, alone, second)
        urgency.release(order=order, actor=somebody(order))


def test_two_people_hold_it_by_asking_and_it_may_be_stat_again_on_hold(order: Order) -> None:
    change(order, "urgent")
    request = holding.ask(order=order, reason="hold.input", words="", actor=somebody(order))
    holding.confirm(request=request, words="yes", actor=somebody(order))
    change(order, "stat")
    order.refresh_from_db()
    assert (order.priority, order.hold_reason, order.hold_agreed) == ("stat", "hold.input", True)


def test_what_needs_no_second_person_any_more_is_not_asked(order: Order) -> None:
    change(order, "urgent")
    change(order, "asap", requester(order))
    with pytest.raises(holding.Alone):
        holding.ask(order=order, reason="hold.input", words="", actor=somebody(order))


def test_an_open_request_outlives_a_demotion_and_ends_with_the_need_of_it(order: Order) -> None:
    holding.ask(order=order, reason="hold.input", words="", actor=somebody(order))
    change(order, "urgent")
    assert HoldRequest.objects.get().state == "open"
    change(order, "routine", requester(order))
    assert HoldRequest.objects.get().state == "void"


def test_the_former_urgency_undoes_it_step_by_step(order: Order) -> None:
    for priority in ("asap", "routine", "asap"):
        change(order, priority)
    assert standing(order) == [("stat", "asap")]
    change(order, "stat")
    assert standing(order) == []


@pytest.mark.parametrize("priority", ["routine", "asap"])
def test_whatever_its_requester_chooses_afterwards_settles_it(order: Order, priority: str) -> None:
    change(order, "urgent")
    change(order, priority, requester(order))
    assert standing(order) == []
    hold(order)


def test_what_its_requester_demotes_himself_is_held_by_one_person_and_told_nobody(order: Order) -> None:
    change(order, "urgent", requester(order))
    assert not Demotion.objects.exists()
    hold(order)
    assert Order.objects.get().hold_agreed is False


def test_an_order_that_was_never_stat_is_held_by_one_person_whoever_demoted_it() -> None:
    order = placed("asap")
    change(order, "routine")
    hold(order)
    assert standing(order) == [("asap", "routine")] and Order.objects.get().hold_reason == "hold.input"


def test_what_one_person_holds_becomes_no_stat_order_before_it_goes_on() -> None:
    order = placed("urgent")
    holder = somebody(order)
    hold(order, holder)
    for one in (holder, somebody(order)):
        with pytest.raises(urgency.HeldByOne, match="Let it go on, then make it STAT"):
            change(order, "stat", one)
    change(order, "asap")
    urgency.release(order=order, actor=holder)
    change(order, "stat")
    assert (Order.objects.get().priority, Order.objects.get().hold_reason) == ("stat", "")


def test_its_requester_makes_it_stat_on_hold_and_has_agreed_to_the_hold_by_that() -> None:
    order = placed("urgent")
    hold(order)
    change(order, "stat", requester(order))
    assert (Order.objects.get().hold_reason, Order.objects.get().hold_agreed) == ("hold.input", True)


def test_one_hold_that_was_agreed_on_says_nothing_of_the_next() -> None:
    order = placed("urgent")
    hold(order, somebody(order), somebody(order))
    urgency.release(order=order, actor=somebody(order))
    hold(order)
    with pytest.raises(urgency.HeldByOne):
        change(order, "stat")


def test_the_database_knows_no_stat_order_that_one_person_holds() -> None:
    order = placed("urgent")
    hold(order)
    with pytest.raises(IntegrityError, match="stat_hold_agreed"), transaction.atomic():
        Order.objects.filter(pk=order.pk).update(priority="stat", rank=0, stat_reason="sepsis", promise=2)


def test_what_is_kept_of_a_demotion_is_who_what_and_why(order: Order) -> None:
    first = somebody(order)
    change(order, "urgent", first, "no fever")
    kept = newest(order)
    assert (kept.by_id, kept.requester_id, kept.before, kept.after) == (first.id, order.placed_by_id, "stat", "urgent")
    assert (kept.words, kept.organisation_id, kept.read_at) == ("no fever", order.performing_laboratory_id, None)


def test_a_demotion_stays_as_it_was_made(order: Order) -> None:
    change(order, "urgent")
    for said in ({"words": "other"}, {"before": "asap"}, {"by_id": order.placed_by_id}, {"at": clock.now()}):
        with pytest.raises(Error, match="permission denied"), transaction.atomic():
            Demotion.objects.update(**said)
    with pytest.raises(Error, match="permission denied"), transaction.atomic():
        Demotion.objects.all().delete()
    for column in ("read_at", "undone_at"):
        Demotion.objects.update(**{column: clock.now()})
        with pytest.raises(IntegrityError, match="pinned"), transaction.atomic():
            Demotion.objects.update(**{column: None})


def test_nobody_demotes_his_own_order_from_under_himself_not_even_in_the_database(order: Order) -> None:
    change(order, "urgent")
    made = newest(order)
    made.pk, made.by_id = None, order.placed_by_id
    with pytest.raises(IntegrityError, match="demoted_by_another"), transaction.atomic():
        made.save(force_insert=True)


@pytest.mark.parametrize("said", [{"after": "stat"}, {"before": "now"}])
def test_the_database_takes_no_demotion_from_or_to_what_is_none(order: Order, said: dict[str, str]) -> None:
    change(order, "urgent")
    made = newest(order)
    made.pk = None
    for column, value in said.items():
        setattr(made, column, value)
    with pytest.raises(IntegrityError, match="demoted_from_and_to"), transaction.atomic():
        made.save(force_insert=True)


def events(order: Order) -> list[Event]:
    return list(Event.objects.filter(object_id=str(order.pk), action="order.demotion_read"))


def test_its_requester_is_told_until_he_has_read_it_and_reads_it_once(order: Order) -> None:
    change(order, "urgent")
    person, edits = requester(order), Order.objects.get().edits
    assert selectors.demotions_to_read(person) == selectors.unread_demotions(Order.objects.get()) == [newest(order)]
    for _ in range(2):
        demotions.read(order=order, last=newest(order).pk, actor=person)
    assert selectors.demotions_to_read(person) == selectors.unread_demotions(Order.objects.get()) == []
    (event,) = events(order)
    assert (event.actor_id, event.facts) == (person.id, {"demotions": [newest(order).pk]})
    assert Order.objects.get().edits == edits


def test_what_came_after_what_he_has_read_is_not_read(order: Order) -> None:
    change(order, "asap")
    seen = newest(order).pk
    change(order, "routine")
    demotions.read(order=order, last=seen, actor=requester(order))
    assert selectors.demotions_to_read(requester(order)) == [newest(order)]
    demotions.read(order=order, last=newest(order).pk, actor=requester(order))
    assert [len(event.facts["demotions"]) for event in events(order)] == [1, 1]


def test_nobody_reads_it_for_him(order: Order) -> None:
    change(order, "urgent")
    for other in (somebody(order), somebody(order, Role.REQUESTER), process("reader")):
        assert selectors.demotions_to_read(other) == []
        with pytest.raises(NotPermitted):
            demotions.read(order=order, last=newest(order).pk, actor=other)
    assert newest(order).read_at is None and not events(order)


def test_where_nothing_was_taken_there_is_nothing_to_read(order: Order) -> None:
    other = placed("stat")
    change(other, "urgent")
    with pytest.raises(Refused, match="nothing to read"):
        demotions.read(order=order, last=newest(other).pk, actor=requester(order))


def test_a_closed_order_and_one_as_urgent_as_before_tell_nothing(order: Order) -> None:
    change(order, "urgent")
    change(order, "stat")
    assert selectors.demotions_to_read(requester(order)) == []
    change(order, "urgent")
    order.refresh_from_db()
    services.cancel(actor=somebody(order), order=order, reason="taken twice", expected_edits=order.edits)
    assert selectors.demotions_to_read(requester(order)) == selectors.unread_demotions(Order.objects.get()) == []


def test_who_has_left_the_organisation_is_told_nothing_of_its_orders(order: Order) -> None:
    change(order, "urgent")
    Membership.objects.filter(user_id=order.placed_by_id).update(ended_at=clock.now())
    assert selectors.demotions_to_read(requester(order)) == []


def test_the_command_line_goes_no_other_way_round(order: Order) -> None:
    emails = [make_user(role=Role.DIRECTOR, organisation=order.performing_laboratory).email for _ in range(2)]
    command = ["steer_order", order.accession, "--by", emails[0]]
    call_command(*command, "--priority", "urgent", "--reason", "no fever", stdout=StringIO())
    with pytest.raises(CommandError, match="by two people"):
        call_command(*command, "--hold", "hold.input")
    out = StringIO()
    call_command(*command, "--hold", "hold.input", "--second", emails[1], stdout=out)
    assert out.getvalue() == f"order {order.accession}: urgent, on hold\n"
