"""Several windows and people at the same moment: nothing is there twice, and nothing is lost."""

from collections.abc import Iterator

import pytest

from accounts.roles import Role
from audit import reads
from audit.models import Event
from casefile import attachments, comments
from casefile.models import Attachment, Comment
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
