"""Priority and hold of an order: who may, what follows for run, jobs and due times, and what is refused without a trace."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from engine_queue.models import Job, Run
from foundation import clock
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotPermitted, Refused, Stale
from orders import urgency
from orders.errors import InvalidOrder
from orders.models import Order
from tests.engine_queue.rows import take
from tests.factories import SLA, make_actor, make_laboratory, make_order, make_user

pytestmark = pytest.mark.django_db


def somebody(order: Order, role: Role = Role.DIRECTOR) -> Actor:
    return make_actor(role=role, organisation=order.performing_laboratory)


def changed(order: Order, priority: str, **said: object) -> Order:
    urgency.change_priority(**{"order": order, "priority": priority, "reason": "worse", "actor": somebody(order), **said})  # type: ignore[arg-type]
    return Order.objects.get(pk=order.pk)


def minutes(order: Order) -> list[int]:
    assert order.accepted_at and order.result_due and order.report_due
    return [round((due - order.accepted_at) / timedelta(minutes=1)) for due in (order.result_due, order.report_due)]


def test_a_promotion_moves_the_run_its_jobs_and_the_due_times() -> None:
    order = make_order(variants=30)
    order = changed(order, "stat")
    run = Run.objects.get(order_id=order.pk)
    assert (order.priority, order.rank, order.stat_reason, order.priority_reason) == ("stat", 0, "worse", "worse")
    assert (run.rank, set(Job.objects.values_list("rank", "due_at"))) == (0, {(0, order.result_due)})
    assert minutes(order) == SLA["stat"]


def test_a_promoted_order_starts_before_older_ones() -> None:
    make_order()
    order = make_order()
    changed(order, "asap")
    claimed = take()
    assert claimed is not None and claimed.run_id == Run.objects.get(order_id=order.pk).pk


def test_a_promotion_never_makes_an_order_due_later(monkeypatch: pytest.MonkeyPatch) -> None:
    order = make_order(priority="urgent")
    before = minutes(order)
    late = clock.now() + timedelta(minutes=before[0] - 5)
    monkeypatch.setattr(clock, "now", lambda: late)
    assert minutes(changed(order, "asap"))[0] == before[0]


def test_a_demotion_counts_from_acceptance() -> None:
    order = changed(make_order(priority="stat"), "urgent")
    assert (order.rank, Run.objects.get(order_id=order.pk).rank, minutes(order)) == (2, 2, SLA["urgent"])


def test_a_missing_stat_reason_is_no_question_any_more_after_a_demotion() -> None:
    order = make_order(priority="stat", stat_reason="")
    assert order.attention == "stat.reason-missing"
    assert changed(order, "asap").attention == ""


def test_each_change_is_an_event_with_both_priorities_and_no_words_of_the_reason() -> None:
    order = changed(make_order(), "asap")
    changed(order, "routine")
    events = Event.objects.filter(object_id=str(order.pk), action__in=["order.promoted", "order.demoted"]).order_by("id")
    found = [(event.action, event.facts["from"], event.facts["to"], event.reason) for event in events]
    assert found == [("order.promoted", "routine", "asap", ""), ("order.demoted", "asap", "routine", "")]
    assert Event.objects.filter(action="run.reclassed").count() == 2


@pytest.mark.parametrize("role", [Role.REQUESTER, Role.ACCESSIONER, Role.OPERATOR, Role.SERVICE])
def test_who_may_not_promote_changes_nothing(role: Role) -> None:
    order = make_order()
    with pytest.raises(NotPermitted):
        changed(order, "asap", actor=somebody(order, role))
    assert Order.objects.get().priority == "routine"


def test_a_director_elsewhere_is_a_stranger() -> None:
    order, stranger = make_order(), make_actor(role=Role.DIRECTOR, organisation=make_laboratory())
    with pytest.raises(NotPermitted):
        changed(order, "asap", actor=stranger)
    with pytest.raises(NotPermitted):
        urgency.hold(order=order, reason="hold.input", actor=stranger)


def test_to_stat_promotes_only_who_may_place_stat() -> None:
    order = make_order()
    with pytest.raises(NotPermitted):
        changed(order, "stat", actor=somebody(order, Role.REVIEWER))
    assert changed(order, "asap", actor=somebody(order, Role.REVIEWER)).priority == "asap"


@pytest.mark.parametrize(
    ("priority", "said", "error"),
    [
        ("asap", {"reason": "  "}, InvalidOrder), ("routine", {}, InvalidOrder), ("at once", {}, InvalidOrder),
        ("asap", {"expected_edits": 7}, Stale),
    ],
)  # fmt: skip
def test_a_change_without_reason_sense_or_fresh_eyes_is_refused(
    priority: str, said: dict[str, object], error: type[HelicaseError]
) -> None:
    order = make_order()
    with pytest.raises(error):
        changed(order, priority, **said)
    assert (Order.objects.get().edits, Event.objects.filter(action="order.promoted").exists()) == (order.edits, False)


def test_a_closed_order_has_no_priority_to_change() -> None:
    order = make_order()
    Order.objects.filter(pk=order.pk).update(state="cancelled", ended_at=clock.now())
    with pytest.raises(urgency.Closed):
        changed(order, "asap")
    with pytest.raises(urgency.Closed):
        urgency.hold(order=order, reason="hold.input", actor=somebody(order))


def test_nothing_of_an_order_on_hold_starts_until_it_goes_on() -> None:
    order = make_order(priority="asap")
    urgency.hold(order=order, reason="hold.specimen", actor=somebody(order))
    order.refresh_from_db()
    assert (order.hold_reason, order.state, take()) == ("hold.specimen", "accepted", None)
    urgency.release(order=order, actor=somebody(order))
    assert Order.objects.get().hold_reason == ""
    assert take() is not None
    events = Event.objects.filter(object_id=str(order.pk), action__in=["order.held", "order.released"]).order_by("id")
    found = [(event.action, event.reason) for event in events]
    assert found == [("order.held", "hold.specimen"), ("order.released", "hold.specimen")]


@pytest.mark.parametrize("role", [Role.REQUESTER, Role.OPERATOR, Role.SERVICE])
def test_who_may_not_hold_neither_holds_nor_releases(role: Role) -> None:
    order = make_order()
    with pytest.raises(NotPermitted):
        urgency.hold(order=order, reason="hold.specimen", actor=somebody(order, role))
    urgency.hold(order=order, reason="hold.specimen", actor=somebody(order))
    with pytest.raises(NotPermitted):
        urgency.release(order=order, actor=somebody(order, role))


def test_a_hold_wants_a_coded_reason_and_holds_once() -> None:
    order = make_order()
    with pytest.raises(InvalidOrder):
        urgency.hold(order=order, reason="because", actor=somebody(order))
    with pytest.raises(Refused):
        urgency.release(order=order, actor=somebody(order))
    urgency.hold(order=order, reason="hold.input", actor=somebody(order))
    with pytest.raises(Refused):
        urgency.hold(order=order, reason="hold.input", actor=somebody(order))


def test_a_stat_order_is_held_by_who_placed_it_or_by_two_people() -> None:
    order = make_order(priority="stat")
    director, placer = somebody(order), actor_for(User.objects.get(pk=order.placed_by_id))
    operator = somebody(order, Role.OPERATOR)
    for second in (None, director, operator):
        with pytest.raises(urgency.TwoPeople):
            urgency.hold(order=order, reason="hold.input", actor=director, second=second)
    for alone, second in ((placer, None), (director, somebody(order, Role.REVIEWER)), (director, placer)):
        urgency.hold(order=order, reason="hold.input", actor=alone, second=second)
        urgency.release(order=order, actor=director)


def commanded(*command: str) -> str:
    out = StringIO()
    call_command("steer_order", *command, stdout=out)
    return out.getvalue()


def test_the_command_promotes_holds_and_releases_in_a_persons_name() -> None:
    order = make_order()
    by = ["--by", make_user(role=Role.ANALYST, organisation=order.performing_laboratory).email]
    second = ["--second", make_user(role=Role.DIRECTOR, organisation=order.performing_laboratory).email]
    assert commanded(order.accession, *by, "--priority", "stat", "--reason", "sepsis") == f"order {order.accession}: stat\n"
    assert commanded(order.accession, *by, "--hold", "hold.input", *second) == f"order {order.accession}: stat, on hold\n"
    assert commanded(order.accession, *by, "--release") == f"order {order.accession}: stat\n"


@pytest.mark.parametrize(
    ("accession", "said", "words"),
    [
        ("", ["--priority", "asap"], "Say why"), ("", ["--release"], "not on hold"), ("", ["--hold", "x"], "Choose why"),
        ("26-000000", ["--release"], "there is no order"), ("", ["--release", "--by", "nobody@example.org"], "there is no account"),
    ],
)  # fmt: skip
def test_the_command_refuses_in_one_line(accession: str, said: list[str], words: str) -> None:
    order = make_order()
    by = make_user(role=Role.ANALYST, organisation=order.performing_laboratory).email
    with pytest.raises(CommandError, match=words):
        commanded(accession or order.accession, "--by", by, *said)
