"""Comments stay as they were written; a correction stands beside them; internal ones are read in the laboratory alone."""

import re
from datetime import timedelta

import pytest
from django.db import ProgrammingError, connection, transaction
from django.urls import reverse

from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from casefile import comments, selectors
from casefile.errors import AlreadyDone, BadText
from casefile.models import Comment
from foundation import clock
from foundation.errors import NotPermitted
from orders.models import Order
from tests.dashboard.people import Ward, read, shown
from tests.factories import make_actor, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward():
    return Ward(time_zone="Europe/Berlin")


@pytest.fixture
def order(ward):
    return ward.order()


def analyst(ward):
    return make_actor(role=Role.ANALYST, organisation=ward.laboratory)


def requester(ward):
    return make_actor(role=Role.REQUESTER, organisation=ward.hospital)


def texts(actor, order):
    return [one.text for one in selectors.comments(actor, order)]


def send(client, order, **data):
    return client.post(reverse("order-comments", args=[order.pk]), data)


def test_an_internal_comment_is_read_in_the_laboratory_and_a_shared_one_on_both_sides(ward, order):
    comments.add(actor=analyst(ward), order=order, text="second tube looks clotted", internal=True)
    comments.add(actor=requester(ward), order=order, text="call the ward, please", internal=False)
    assert texts(analyst(ward), order) == ["second tube looks clotted", "call the ward, please"]
    assert texts(requester(ward), order) == ["call the ward, please"]
    page = read(ward.requester(), "order", order.pk)
    assert "call the ward" in page and "clotted" not in page


def test_what_laboratory_people_write_is_internal_unless_they_say_otherwise(ward, order):
    page = read(ward.analyst(), "order", order.pk)
    assert re.search(r'value="internal" checked', page)
    assert send(ward.analyst(), order, text="for us").status_code == 302
    assert Comment.objects.get().internal


def test_a_requester_cannot_write_for_the_laboratory_alone(ward, order):
    with pytest.raises(NotPermitted):
        comments.add(actor=requester(ward), order=order, text="hidden", internal=True)
    assert send(ward.requester(), order, text="hidden", readers="internal").status_code == 422


def test_a_correction_is_another_comment_and_marks_the_old_one(ward, order):
    user = make_user(role=Role.ANALYST, organisation=ward.laboratory)
    old = comments.add(actor=actor_for(user), order=order, text="left arm", internal=False)
    comments.add(actor=actor_for(user), order=order, text="right arm", internal=True, corrects=old)
    new = Comment.objects.get(withdraws=old)
    assert (new.text, new.internal) == ("right arm", False)  # who read the old one reads the new one
    page = read(ward.requester(), "order", order.pk)
    assert "Withdrawn" in page and "<s>left arm</s>" in page and "right arm" in page
    with pytest.raises(AlreadyDone):
        comments.add(actor=actor_for(user), order=order, text="no arm", internal=False, corrects=old)


def test_nobody_corrects_what_another_wrote(ward, order):
    old = comments.add(actor=analyst(ward), order=order, text="left arm", internal=False)
    with pytest.raises(NotPermitted):
        comments.add(actor=analyst(ward), order=order, text="right arm", internal=False, corrects=old)
    assert send(ward.analyst(), order, text="right arm", corrects="999").status_code == 404


@pytest.mark.parametrize(
    ("text", "said"), [(" \n ", "Write what you want to say"), ("x" * 2001, "2,001 characters; at most 2,000")]
)
def test_what_cannot_be_kept_is_refused_in_words_and_stays_in_the_form(ward, order, text, said):
    response = send(ward.analyst(), order, text=text)
    page = response.content.decode()
    assert response.status_code == 422 and said in page and text.strip() in page
    with pytest.raises(BadText):
        comments.plain(text)


def test_line_ends_stay_and_control_characters_do_not():
    assert comments.plain("a\r\nb\x07c\u202e\n\n") == "a\nb c"


def test_words_are_shown_as_words(ward, order):
    send(ward.analyst(), order, text="<script>alert(1)</script>", readers="both")
    assert shown("<script>alert(1)</script>", read(ward.requester(), "order", order.pk))


def test_sending_twice_is_one_comment(ward, order):
    client = ward.analyst()
    for _ in range(2):
        send(client, order, text="seen")
    assert Comment.objects.count() == 1


def test_the_same_words_a_day_later_are_another_comment(ward, order, monkeypatch):
    client = ward.analyst()
    send(client, order, text="seen")
    later = clock.now() + timedelta(hours=11)
    monkeypatch.setattr(clock, "_source", lambda: later)
    send(client, order, text="seen")
    assert Comment.objects.count() == 2


def test_open_pages_hear_of_it_and_no_other_form_is_outdated(ward, order):
    shown_as = re.search(r'live\?shown=([^"]+)"', read(ward.analyst(), "order", order.pk)).group(1)
    send(ward.requester(), order, text="call the ward")
    page = read(ward.analyst(), "order-live", order.pk, shown=shown_as)
    assert 'id="comment-list" hx-swap-oob="true"' in page and "call the ward" in page and "<textarea" not in page
    after = Order.objects.get(pk=order.pk)
    assert (after.version, after.edits) == (order.version + 1, order.edits)


def test_the_event_says_who_and_where_and_not_what(ward, order):
    send(ward.analyst(), order, text="second tube looks clotted")
    event = Event.objects.get(action="comment.added")
    assert event.facts == {"order": str(order.pk), "internal": True} and event.origin == "page, 127.0.0.1"
    assert event.organisation_id == ward.laboratory.pk


@pytest.mark.parametrize("sql", ["UPDATE casefile_comment SET text = 'other'", "DELETE FROM casefile_comment"])
def test_the_database_changes_no_comment(ward, order, sql):
    comments.add(actor=analyst(ward), order=order, text="left arm", internal=True)
    with pytest.raises(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_program_reads_comments_and_writes_none(ward, order):
    program = make_actor(role=Role.SERVICE, organisation=ward.laboratory)
    comments.add(actor=analyst(ward), order=order, text="clotted", internal=True)
    assert texts(program, order) == ["clotted"]
    with pytest.raises(NotPermitted):
        comments.add(actor=program, order=order, text="beep", internal=False)


def test_what_was_added_is_said_where_one_is_led_back_to(ward, order):
    client = ward.requester()
    answer = client.post(reverse("order-comments", args=[order.pk]), {"text": "fever", "readers": "both"}, follow=True)
    before, comments_part = answer.content.decode().split('id="comments"')
    assert answer.redirect_chain[0][0].endswith("#comments") and "The comment is added." not in before
    assert "The comment is added." in comments_part.split('id="comments-title"')[0]
