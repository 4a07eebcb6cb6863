"""Downtimes on pages: who opens which, what an accessioner enters late, and how a list is settled and closed."""

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from dashboard import local_time
from foundation import clock
from orders.models import Downtime, DowntimeLine, LateEntry, Order
from tests.dashboard.people import logged_in, read
from tests.dashboard.test_worklist_deeds import exported
from tests.factories import make_order, make_organisation, make_ready_intake, make_user
from tests.orders.downtime import Down

pytestmark = pytest.mark.django_db


@pytest.fixture
def down() -> Down:
    return Down()


def client(down: Down, role: Role) -> Client:
    return logged_in(role, down.laboratory)


def test_a_director_writes_it_down_afterwards_in_the_zone_of_the_laboratory(down) -> None:
    zone = down.laboratory.zone
    said = {"what": "everything", "words": "power", "began_at": local_time.shown(down.began_at, zone), "entry_days": "7"}
    director = client(down, Role.DIRECTOR)
    wrong = director.post(reverse("downtimes"), {**said, "began_at": "2999-01-01T00:00"})
    assert wrong.status_code == 409 and "This year cannot be meant." in wrong.content.decode()
    made = director.post(reverse("downtimes"), said, follow=True).content.decode()
    assert "it lasts" in made and Downtime.objects.get().began_at.minute == down.began_at.minute
    ended = {"do": "end", "ended_at": local_time.shown(down.now, zone), "entry_days": "7"}
    page = director.post(reverse("downtime", args=[Downtime.objects.get().pk]), ended, follow=True).content.decode()
    assert "Late entries until" in page


def test_who_gets_which_page(down) -> None:
    downtime = down.open()
    down.enter(downtime)
    pages = [reverse("downtime", args=[downtime.pk]), reverse("downtime.csv", args=[downtime.pk]), reverse("downtimes")]
    gets = {
        Role.DIRECTOR: [200, 200, 200], Role.ACCESSIONER: [200, 403, 200], Role.OPERATOR: [200, 403, 200],
        Role.REQUESTER: [404, 404, 403], Role.ANALYST: [404, 404, 403], Role.AUDITOR: [404, 404, 403],
    }  # fmt: skip
    for role, statuses in gets.items():
        assert [client(down, role).get(page).status_code for page in pages] == statuses, role
    elsewhere = logged_in(Role.DIRECTOR, Down().laboratory)
    assert [elsewhere.get(page).status_code for page in pages] == [404, 404, 200]
    assert "Muster" not in client(down, Role.OPERATOR).get(pages[0]).content.decode()
    assert Client().get(pages[0]).status_code == 302


def test_an_accessioner_enters_it_late_on_the_order_form_and_the_order_says_so(down) -> None:
    downtime, zone = down.open(), down.laboratory.zone
    intake, accessioner = make_ready_intake(test_version=down.test, variants=2), client(down, Role.ACCESSIONER)
    form = {
        "do": "place", "intake": str(intake.pk), "test": str(down.test.pk), "organisation": str(down.laboratory.pk), "mrn": "88",
        "family_name": "Okafor", "given_name": "Ada", "birth_date": "1970-01-31", "sex": "female", "specimen_identifier": "P-1",
        "specimen_type": "Blood", "collected_at": local_time.shown(down.at(hours=3.5), zone), "priority": "urgent",
        "late": "on", "downtime": str(downtime.pk), "taken_by": "Nurse Joy", "late_reason": "unreachable", "paper_number": "P 17",
        "received_at": local_time.shown(down.at(hours=2), zone), "condition": "acceptable",
    }  # fmt: skip
    missing = accessioner.post(reverse("order-new"), form)
    assert missing.status_code == 422 and "a late entry needs it" in missing.content.decode()
    early = accessioner.post(reverse("order-new"), {**form, "requested_at": local_time.shown(down.at(hours=9), zone)})
    assert early.status_code == 422 and "does not lie within downtime D1" in early.content.decode()
    placed = accessioner.post(reverse("order-new"), {**form, "requested_at": local_time.shown(down.at(hours=3), zone)}, follow=True)
    page = placed.content.decode()
    words = ("Entered late", "taken by Nurse Joy", "Helicase could not be reached", "downtime D1", "Late.")
    assert all(one in page for one in words)
    order = Order.objects.get()
    assert (order.placer_number, LateEntry.objects.get().received_at is not None) == ("P 17", True)


def test_the_switch_is_only_there_for_who_may_enter_late_while_a_downtime_is_open(down) -> None:
    assert "late-fields" not in read(client(down, Role.ACCESSIONER), "order-new")
    down.open()
    assert "late-fields" in read(client(down, Role.ACCESSIONER), "order-new")
    assert "late-fields" not in read(client(down, Role.ANALYST), "order-new")
    hospital = read(logged_in(Role.ACCESSIONER, make_organisation()), "order-new")
    assert "late-fields" in hospital and "the database was moved" not in hospital  # why a laboratory was down is its own


def test_the_list_is_ticked_with_a_note_and_closed_and_taken_as_csv(down) -> None:
    downtime = down.open()
    order = down.enter(downtime)
    accessioner, director = client(down, Role.ACCESSIONER), client(down, Role.DIRECTOR)
    page = reverse("downtime", args=[downtime.pk])
    added = {"do": "add", "kind": "told", "accession": order.accession, "words": "=result to Dr Lee 03:10"}
    assert "The line is added." in accessioner.post(page, added, follow=True).content.decode()
    closing = {"do": "close", "words": "all compared"}
    assert "3 lines of the list are open" in director.post(page, closing).content.decode()
    chosen = {"do": "tick", "note": "compared", "line": [str(line.pk) for line in DowntimeLine.objects.all()]}
    assert "Choose at least one line." in accessioner.post(page, {**chosen, "line": []}).content.decode()
    assert "3 lines are ticked." in accessioner.post(page, chosen, follow=True).content.decode()
    assert "is closed." in director.post(page, closing, follow=True).content.decode()
    told = director.get(reverse("downtime.csv", args=[downtime.pk])).content.decode()
    assert order.accession in told and "'=result" in told and told.count("compared") == 3


def test_worklist_and_its_file_say_which_orders_were_entered_late_and_when_they_were_asked_for(down) -> None:
    late, other = down.enter(down.open()), make_order(intake=make_ready_intake(test_version=down.test))
    page = read(client(down, Role.DIRECTOR), "worklist")
    assert page.count("entered late, asked for on paper") == 1
    _, rows = exported(make_user(role=Role.DIRECTOR, organisation=down.laboratory))
    told = {row["accession"]: row["asked_on_paper"] for row in rows}
    assert datetime.fromisoformat(told[late.accession]) == down.at(hours=3).replace(microsecond=0) and told[other.accession] == ""


def test_the_stat_list_has_a_number_that_its_downtime_names(down) -> None:
    page = read(client(down, Role.ANALYST), "stat-list")
    downtime = down.open(began_at=clock.now(), ended_at=None)
    assert downtime.stat_list is not None and f"list {downtime.stat_list.number}" in page
    assert downtime.stat_list.number in read(client(down, Role.DIRECTOR), "downtime", downtime.pk)
