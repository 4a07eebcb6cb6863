"""A draft is its owner's alone, survives what forms do not, is never overwritten unasked, and ends as one order."""

import re
import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from casefile import drafts, tasks
from casefile.models import Draft
from foundation import clock
from orders import services
from orders.models import Order
from tests.dashboard.desk import Desk
from tests.dashboard.people import Ward, logged_in, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk():
    return Desk(Ward(time_zone="Europe/Berlin"))


class Window:
    """One window of a browser with the form in it."""

    def __init__(self, client, typed, draft=None):
        self.client, self.typed, self.id, self.version = client, dict(typed), draft or str(uuid.uuid4()), 0
        self.name = str(uuid.uuid4())

    def save(self, **changes):
        self.typed |= {key: value for key, value in changes.items() if key not in ("replace", "intake")}
        data = {**self.typed, "draft": self.id, "draft_version": self.version, "window": self.name}
        response = self.client.post(reverse("order-draft"), data | {k: v for k, v in changes.items() if k in ("replace", "intake")})
        if response.status_code == 200:
            self.version = response.json()["version"]
        return response


def window(desk, **typed):
    return Window(desk.client, {**desk.typed, **typed})


def page(client, draft):
    return read(client, "order-new", draft=draft)


def test_what_is_typed_is_saved_with_its_time_and_comes_back_after_a_new_login(desk):
    one = window(desk, family_name="Okafor", pasted="##fileformat=VCFv4.2")
    saved = one.save()
    assert saved.status_code == 200 and re.fullmatch(r"\d\d:\d\d:\d\d", saved.json()["saved"])
    owner = Draft.objects.get().owner
    desk.client.logout()
    desk.client.force_login(owner)
    assert "Okafor" in page(desk.client, one.id) and "##fileformat=VCFv4.2" in page(desk.client, one.id)
    listed = read(desk.client, "order-new")
    assert "Your drafts" in listed and f"?draft={one.id}" in listed


def test_it_is_its_owners_alone(desk):
    one = window(desk)
    one.save()
    colleague, director = desk.ward.requester(), logged_in(Role.DIRECTOR, desk.ward.laboratory)
    for client in (colleague, director):
        assert "Okafor" not in page(client, one.id) and one.id not in read(client, "order-new")
        assert client.post(reverse("order-draft-discard", args=[one.id])).status_code == 404
        assert Window(client, desk.typed, one.id).save(family_name="Other").status_code in (410, 422)
    assert Draft.objects.get().typed["family_name"] == "Okafor"


def test_a_leaver_has_no_drafts(desk):
    one = window(desk)
    one.save()
    Draft.objects.get().owner.memberships.update(ended_at=clock.now())
    assert desk.client.get(reverse("order-new"), {"draft": one.id}).status_code == 403


def test_a_second_window_is_told_before_it_overwrites(desk):
    first = window(desk)
    first.save()
    second = Window(desk.client, desk.typed, first.id)
    second.version = first.version
    assert second.save(family_name="Newer").status_code == 200
    told = first.save(family_name="Older")
    assert told.status_code == 409 and "Another window saved a newer version" in told.json()["words"]
    assert Draft.objects.get().typed["family_name"] == "Newer"
    assert first.save(replace="yes").status_code == 200
    assert Draft.objects.get().typed["family_name"] == "Older"


def test_a_save_whose_answer_was_lost_is_sent_again_without_a_quarrel(desk):
    one = window(desk)
    one.save()
    one.version = 0  # the answer never came
    assert one.save(family_name="Typed meanwhile").status_code == 200
    assert Draft.objects.count() == 1


def test_without_scripts_a_button_saves_it(desk):
    one = window(desk)
    answer = desk.client.post(reverse("order-new"), {**one.typed, "do": "save", "draft": one.id, "draft_version": 0}, follow=True)
    words = answer.content.decode()
    assert answer.request["QUERY_STRING"] == f"draft={one.id}" and "Draft saved" in words and "Okafor" in words


def test_without_scripts_a_newer_version_is_told_and_nothing_typed_is_lost(desk):
    one = window(desk)
    one.save()
    data = {**one.typed, "family_name": "Mine", "do": "save", "draft": one.id, "draft_version": 0}
    answer = desk.client.post(reverse("order-new"), data)
    assert (
        answer.status_code == 409
        and "Another window saved a newer" in answer.content.decode()
        and "Mine" in answer.content.decode()
    )


def test_placing_ends_it_and_placing_twice_is_one_order(desk):
    intake, one = desk.ward.intake(), window(desk)
    one.save(intake=str(intake.pk))
    data = {**desk.typed, "intake": str(intake.pk), "do": "place", "draft": one.id, "draft_version": one.version}
    sent = [desk.client.post(reverse("order-new"), data) for _ in range(2)]
    assert {answer.status_code for answer in sent} == {302} and len({answer["Location"] for answer in sent}) == 1
    draft = Draft.objects.get()
    assert (draft.state, draft.typed, draft.order) == ("placed", {}, Order.objects.get())
    assert one.save().status_code == 410  # a save that was under way
    assert f"placed as order {draft.order}" in page(desk.client, one.id)


def test_a_placed_draft_with_another_input_is_no_second_order(desk):
    one = window(desk)
    for _ in range(2):
        data = {**desk.typed, "intake": str(desk.ward.intake().pk), "do": "place", "draft": one.id}
        answer = desk.client.post(reverse("order-new"), data)
    assert answer.status_code == 422 and "This draft was placed as order" in answer.content.decode()
    assert Order.objects.count() == 1


def test_a_save_that_comes_after_its_order_makes_no_new_draft(desk):
    one = window(desk)
    desk.client.post(reverse("order-new"), {**desk.typed, "intake": str(desk.ward.intake().pk), "do": "place", "draft": one.id})
    assert Order.objects.count() == 1 and one.save().status_code == 410
    assert not Draft.objects.filter(state="open").exists()


def test_a_draft_keeps_the_checked_file(desk):
    intake, one = desk.ward.intake(), window(desk)
    one.save(intake=str(intake.pk))
    assert f'name="intake" value="{intake.pk}"' in page(desk.client, one.id)


def test_discarding_leaves_the_event_and_nothing_of_the_patient(desk):
    one = window(desk)
    one.save()
    assert desk.client.post(reverse("order-draft-discard", args=[one.id])).status_code == 302
    draft = Draft.objects.get()
    assert (draft.state, draft.typed) == ("discarded", {})
    actions = list(Event.objects.filter(object_id=one.id).order_by("id").values_list("action", flat=True))
    assert actions == ["draft.created", "state.discarded"]
    assert "This draft was discarded" in page(desk.client, one.id)


def test_it_ends_fourteen_days_after_the_last_save_and_that_is_told_before(desk, monkeypatch):
    one, start = window(desk), clock.now()
    one.save()
    monkeypatch.setattr(clock, "_source", lambda: start + timedelta(days=11, hours=1))
    drafts_ending = read(desk.client, "order-new")
    assert "unless it is saved again" in drafts_ending and "1 draft of yours" in read(desk.client, "worklist")
    monkeypatch.setattr(clock, "_source", lambda: start + timedelta(days=14, minutes=1))
    assert one.id not in read(desk.client, "order-new")
    tasks.expire_drafts()
    assert (Draft.objects.get().state, Draft.objects.get().typed) == ("expired", {})
    assert drafts.expire() == 0


def test_a_server_that_fails_empties_no_form(desk, monkeypatch):
    def fail(**_):
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr(services, "place", fail)
    answer = desk.client.post(reverse("order-new"), {**desk.typed, "intake": str(desk.ward.intake().pk), "do": "place"})
    words = answer.content.decode()
    assert answer.status_code == 503 and "could not place the order just now" in words and 'value="Okafor"' in words


def test_a_text_that_is_too_long_is_left_out_in_words(desk):
    saved = window(desk, pasted="A" * (drafts.LONGEST_TEXT + 1)).save().json()
    assert "too long for a draft" in saved["left_out"] and "pasted" not in Draft.objects.get().typed


def test_more_drafts_take_no_more_queries(desk):
    window(desk).save()
    with CaptureQueriesContext(connection) as few:
        read(desk.client, "order-new")
    for _ in range(5):
        window(desk).save()
    with CaptureQueriesContext(connection) as many:
        read(desk.client, "order-new")
    assert len(many) == len(few)


def test_there_is_a_most(desk, monkeypatch):
    monkeypatch.setattr(drafts, "MOST", 1)
    window(desk).save()
    refused = window(desk).save()
    assert refused.status_code == 422 and "Place or discard one" in refused.json()["words"]


@pytest.mark.parametrize("said", ["", "nonsense", "0c6a1d4e-6f0b-4c58-9d0e-1f6a3b7c2d9e"])
def test_an_address_without_a_draft_is_a_new_form(desk, said):
    assert desk.client.get(reverse("order-new"), {"draft": said}).status_code == 200


def test_who_places_no_orders_saves_none(desk):
    assert Window(logged_in(Role.REVIEWER, desk.ward.laboratory), desk.typed).save().status_code == 403


def test_the_database_keeps_nothing_typed_in_an_ended_draft(desk):
    window(desk).save()
    with pytest.raises(IntegrityError, match="ended_draft_says_nothing"), transaction.atomic():
        Draft.objects.update(state="discarded", ended_at=clock.now())
