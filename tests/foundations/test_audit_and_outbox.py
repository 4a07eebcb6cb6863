"""Events belong to their deed; messages leave after the commit and until they have gone."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction

from audit.models import Event
from audit.services import record
from foundation import clock
from foundation.actor import process
from outbox import services as outbox
from outbox.models import Message
from tests import factories


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    received: list[object] = []
    monkeypatch.setitem(outbox._handlers, "test", received.append)
    return received


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise ConnectionError

    monkeypatch.setitem(outbox._handlers, "test", refuse)


def _post() -> Message:
    with transaction.atomic():
        return outbox.post(topic="test", payload={"n": 1}, organisation_id=uuid4())


def test_an_event_cannot_be_written_outside_the_transaction_of_its_deed(clone_db: str) -> None:
    laboratory = factories.make_laboratory()
    assert not connection.in_atomic_block
    with pytest.raises(RuntimeError, match="inside the transaction"):
        record(actor=process("test"), action="x", obj=laboratory, organisation_id=laboratory.pk)


def test_an_event_goes_when_its_deed_is_rolled_back(clone_db: str) -> None:
    laboratory = factories.make_laboratory()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record(actor=process("test"), action="x", obj=laboratory, organisation_id=laboratory.pk)
        raise ZeroDivisionError
    assert not Event.objects.filter(action="x").exists()


@pytest.mark.django_db
def test_an_event_keeps_the_printed_name_without_a_foreign_key() -> None:
    user = factories.make_user(role="director", organisation=factories.make_laboratory(), name="Dr Ada Muster")
    record(actor=process(user.name), action="x", obj=user, organisation_id=uuid4())
    assert Event.objects.get(object_id=str(user.pk)).actor_name == "Dr Ada Muster"
    assert not any(field.is_relation for field in Event._meta.get_fields())


def test_a_message_is_handed_over_after_the_commit(clone_db: str, receiver: list[object]) -> None:
    with transaction.atomic():
        message = outbox.post(topic="test", payload={"n": 1}, organisation_id=uuid4())
        assert receiver == []
    message.refresh_from_db()
    assert receiver == [{"format": outbox.FORMAT, "n": 1}]
    assert message.sent_at is not None


def test_a_receiver_that_fails_neither_breaks_the_deed_nor_loses_the_message(clone_db: str, broken: None) -> None:
    message = _post()
    message.refresh_from_db()
    assert (message.sent_at, message.tries, message.last_error) == (None, 1, "ConnectionError")
    assert message.not_before > clock.now()


def test_the_dispatcher_hands_over_what_stayed_behind(
    clone_db: str, receiver: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.delitem(outbox._handlers, "test")
        _post()
    later = clock.now() + timedelta(minutes=1)
    monkeypatch.setattr(clock, "_source", lambda: later)
    assert (outbox.dispatch(), outbox.dispatch(), len(receiver)) == (1, 0, 1)
