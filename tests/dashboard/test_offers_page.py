"""The page of a test version, and who may read it."""

import pytest
from django.urls import reverse

from accounts.roles import Role
from registry.services import offer_test
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_laboratory, make_organisation

pytestmark = pytest.mark.django_db


def again(ward: Ward, **changes):
    """The next version of the ward's test."""
    test = ward.test
    kept = {name: getattr(test, name) for name in ("accepts", "reference", "deployment", "protocol", "sla_minutes")}
    return offer_test(laboratory=ward.laboratory, code=test.definition.code, name="Isolate panel", **{**kept, **changes})


def test_the_page_says_what_the_test_takes_does_and_promises() -> None:
    ward = Ward()
    second = again(ward, signatures={"stat": 1, "asap": 1, "urgent": 1, "routine": 2}, limitations="Knows no missense.")
    page = read(ward.analyst(), "test", second.pk)
    scores = ("VCF", "centred, 64 bases, forward strand", second.reference.name, "ecoli-orf-2k 1.0")
    for words in (*scores, "15 min", "12 h", "2 people"):
        assert shown(words, page), words
    assert "Knows no missense." in page and "version 1</a>" in page and "DEMONSTRATION" in page
    assert "not offered any more" in read(ward.analyst(), "test", ward.test.pk)


def test_the_order_page_says_how_many_people_sign_for_its_priority() -> None:
    ward = Ward()
    ward.test = again(ward, signatures={"stat": 1, "asap": 1, "urgent": 1, "routine": 2})
    assert "2 people sign for ROUTINE" in read(ward.analyst(), "order", ward.order().pk)


@pytest.mark.parametrize(
    ("role", "where", "new", "old"),
    [
        (Role.DIRECTOR, "laboratory", 200, 200),
        (Role.REQUESTER, "elsewhere", 200, 404),  # can order what is offered
        (Role.REQUESTER, "hospital", 200, 200),  # has an order of it
        (Role.OPERATOR, "laboratory", 404, 404),
        (Role.REVIEWER, "elsewhere", 404, 404),
    ],
)
def test_who_may_read_of_a_test(role: Role, where: str, new: int, old: int) -> None:
    ward = Ward()
    ward.order()
    second = again(ward, limitations="another")
    client = logged_in(role, {"laboratory": ward.laboratory, "hospital": ward.hospital}.get(where) or make_organisation())
    assert [client.get(reverse("test", args=[one.pk])).status_code for one in (second, ward.test)] == [new, old]
    stranger = logged_in(Role.REVIEWER, make_laboratory())
    assert stranger.get(reverse("test", args=[second.pk])).status_code == 404
