"""Several windows and people at the same moment: nothing is there twice, and nothing is lost."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from accounts.roles import Role
from audit import reads
from audit.models import Event
from casefile import attachments, comments, drafts
from casefile.drafts import Save
from casefile.models import Attachment, Comment, Draft
from foundation.errors import NotFound
from orders.models import Order
from tests.factories import make_actor, make_order
from tests.orders.test_holding_at_once import at_once

PEOPLE = 6


@pytest.fixture
def order(clone_db: str, valkey_url: str) -> Iterator[Order]:
    yield make_order()


@pytest.fixture
def actor(order):
    return make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)


def test_of_two_corrections_one_is_kept(order, actor):
    old = comments.add(actor=actor, order=order, text="left", internal=True)

    def correct(words):
        return lambda: comments.add(actor=actor, order=order, text=words, internal=True, corrects=old)

    assert at_once([correct("right"), correct("neither")]) == ["", "AlreadyDone"]
    assert Comment.objects.filter(withdraws=old).count() == 1


def test_the_first_save_sent_twice_is_one_draft_and_another_person_never_gets_it(order, actor):
    organisation, pk = order.performing_laboratory_id, uuid4()
    stranger = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)

    def save(who):
        return lambda: drafts.save(actor=who, wanted=Save(pk, organisation, {"mrn": "77"}, window="one"))

    assert at_once([save(actor)] * 3) == [""] * 3
    draft = Draft.objects.get()
    assert (draft.owner_id, Event.objects.filter(action="draft.created").count()) == (actor.id, 1)
    with pytest.raises(NotFound):
        save(stranger)()


def test_looks_at_the_same_moment_are_one(order, actor):
    found = at_once(
        [lambda: reads.seen(actor=actor, action="order.viewed", obj=order, organisation_id=order.performing_laboratory_id)] * PEOPLE
    )
    assert found == [""] * PEOPLE and Event.objects.filter(action="order.viewed").count() == 1


def test_the_same_file_attached_at_once_is_one_and_others_get_numbers_of_their_own(order, actor):
    def attach(content):
        return lambda: attachments.attach(actor=actor, order=order, name="a.txt", kind="other", chunks=lambda: [content.encode()])

    assert at_once([attach("same"), attach("same"), attach("one"), attach("two")]) == [""] * 4
    assert sorted(Attachment.objects.values_list("number", flat=True)) == [1, 2, 3]
