"""Streams are followed day by day from the counts of hours, the same way again, and call people once."""

from datetime import timedelta

import numpy as np
import pytest
from django.core.management import call_command
from django.db import Error, connection, transaction

from accounts.roles import Role
from drift import calls, following, kept, measures
from drift.models import Call, Following, FrozenReference, Hist, Hour, Missing, Window
from drift.references import midnight
from drift.streams import Stream
from foundation.errors import IllegalMove, NotFound, NotPermitted, Refused
from notices.models import Notice, Receipt
from outbox import services as outbox
from tests.drift.rows import frozen, today
from tests.drift.test_streams import learnt
from tests.factories import make_actor, make_laboratory, make_user

pytestmark = pytest.mark.django_db


def counted(reference: FrozenReference, days_ago: int, number: int, *, shift: float = 0.0) -> None:
    """A day whose hours are all settled, with so many values in its first two."""
    start = midnight(today() - timedelta(days=days_ago))
    hours = [start + timedelta(hours=n) for n in range(24)]
    Hour.objects.bulk_create([Hour(hour=hour, rows=0, done_at=hour + timedelta(hours=3)) for hour in hours], ignore_conflicts=True)
    for hour in hours[:2] if number else []:
        values = np.random.default_rng(days_ago).uniform(shift, 1 + shift, number // 2)
        Hist.objects.create(
            hour=hour, reference=reference, organisation_id=reference.organisation_id, slice="all", key="", n=len(values),
            total=values.sum(), squares=np.square(values).sum(), low=values.min(), high=values.max(),
            counts=measures.counted(values, reference.edges).tolist(),
        )  # fmt: skip


def test_a_state_is_kept_to_its_last_bit() -> None:
    stream = learnt()
    assert kept.read(kept.written(stream)) == stream


def test_each_settled_day_is_a_window_and_neither_few_nor_a_gap_is_green() -> None:
    delta = frozen(6)["delta"]
    for days_ago, number in ((5, 4000), (4, 4000), (3, 0), (2, 4000)):
        counted(delta, days_ago, number)
    Missing.objects.create(
        at=midnight(today() - timedelta(days=4)), organisation_id=delta.organisation_id, test_version_id=delta.test_version_id,
        model_version_id=delta.model_version_id, deployment_id=delta.deployment_id, kind="clinical", number=7, why="test",
    )  # fmt: skip
    assert following.follow() == 4 * 5, "five features; yesterday is not settled"
    windows = list(Window.objects.filter(reference=delta).order_by("day"))
    assert [one.verdict for one in windows] == ["learning", "gap", "few", "learning"]
    assert [(one.n, one.missing, one.hours) for one in windows] == [(4000, 0, 24), (4000, 7, 24), (0, 0, 24), (4000, 0, 24)]
    assert windows[0].psi is not None and 0 < windows[0].distance < 0.05 and windows[2].psi is None
    assert following.follow() == 0 and not Call.objects.exists()
    assert following.replay(delta) == []
    with pytest.raises(Error), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE drift_window SET distance = 0")


def test_an_audit_finds_what_does_not_follow_from_what_was_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    delta = frozen(4)["delta"]
    counted(delta, 3, 4000)
    following.follow()
    call_command("drift_replay")
    counted(delta, 2, 4000)
    with monkeypatch.context() as patched:
        patched.setattr(following, "_said", lambda stream, said=following._said: {**dict(said(stream)), "merged": 0.5}.items())
        following.follow()
    Hist.objects.filter(reference=delta, hour=midnight(today() - timedelta(days=3))).delete()
    Following.objects.filter(reference=delta).update(stream=kept.written(Stream.begun(tuple(delta.counts))))
    found = " ".join(following.replay(delta))
    assert f"{today() - timedelta(days=2)}: merged was not what follows" in found
    assert f"{today() - timedelta(days=3)}: n is counted otherwise now" in found and "the state that is kept is not" in found
    with pytest.raises(SystemExit):
        call_command("drift_replay")
    assert "as kept" in capsys.readouterr().out


def test_a_call_is_told_once_and_closed_by_a_person_with_a_reason() -> None:
    delta = frozen(5)["delta"]
    laboratory = delta.test_version.definition.laboratory
    people = {role: make_user(role=role, organisation=laboratory) for role in (Role.DIRECTOR, Role.MODEL_STEWARD, Role.OPERATOR)}
    for days_ago in (4, 3):
        counted(delta, days_ago, 4000, shift=0.5)
    following.follow()
    call = Call.objects.get()
    assert (call.state, call.window.light, call.window.day) == ("open", "gross", today() - timedelta(days=4))
    for _ in range(2):
        outbox.dispatch()
        calls.deliver({"call": str(call.pk)})
    assert Notice.objects.get(kind="drift.called").facts["feature"] == "delta"
    told = set(Receipt.objects.values_list("user_id", flat=True))
    assert {people[Role.DIRECTOR].pk, people[Role.MODEL_STEWARD].pk} <= told and people[Role.OPERATOR].pk not in told
    steward = make_actor(role=Role.MODEL_STEWARD, organisation=laboratory)
    with pytest.raises(NotFound):
        calls.acknowledge(actor=make_actor(role=Role.DIRECTOR, organisation=make_laboratory()), pk=call.pk)
    with pytest.raises(NotPermitted):
        calls.close(actor=make_actor(role=Role.OPERATOR, organisation=laboratory), pk=call.pk, reason="nothing")
    calls.acknowledge(actor=steward, pk=call.pk)
    with pytest.raises(Refused):
        calls.close(actor=steward, pk=call.pk, reason=" ")
    calls.close(actor=steward, pk=call.pk, reason="a new site sends longer windows")
    call.refresh_from_db()
    assert (call.state, call.closed_after, call.closed_by) == ("closed", today() - timedelta(days=3), steward.name)
    with pytest.raises(IllegalMove):
        calls.acknowledge(actor=steward, pk=call.pk)
    assert kept.read(Following.objects.get(reference=delta).stream).light == "steady"
    assert following.replay(delta) == []
