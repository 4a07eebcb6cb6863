"""Patients on pages: found by who asks, numbers, history, two records that become one and two again."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from orders.models import Merge, Order, PatientIdentifier
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_laboratory

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward()


@pytest.fixture
def clerk(ward: Ward) -> Client:
    return logged_in(Role.ACCESSIONER, ward.hospital)


def sent(client: Client, name: str, pk: object, form: str, **said: object):
    """Send a form of a page, with the hidden fields that it came with."""
    page = said.pop("page", None) or read(client, name, pk)
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.split(form)[1]))
    return client.post(reverse(name, args=[pk]), {**hidden, **said}, follow=True)


def test_nobody_is_listed_before_somebody_is_looked_for(ward: Ward, clerk: Client) -> None:
    order = ward.order()
    assert order.patient.given_name not in read(clerk, "patients")
    for text in (order.stated_mrn, order.patient.given_name, order.patient.family_name[:4]):
        assert f'href="/patients/{order.patient_id}/"' in read(clerk, "patients", q=text)
    assert "at least two characters" in read(clerk, "patients", q="M") and "matches" in read(clerk, "patients", q="nobody")


def test_a_search_finds_nobody_of_another_organisation(ward: Ward) -> None:
    order = ward.order()
    for client in (logged_in(Role.DIRECTOR, make_laboratory()), ward.analyst()):
        assert str(order.patient_id) not in read(client, "patients", q=order.stated_mrn)
        assert client.get(reverse("patient", args=[order.patient_id])).status_code == 404


def test_the_page_shows_numbers_specimens_orders_and_history(ward: Ward, clerk: Client) -> None:
    order = ward.order()
    page = read(clerk, "patient", order.patient_id)
    assert all(shown(text, page) for text in (order.stated_mrn, order.accession, order.specimen.identifier, "Record made"))


def test_a_number_is_added_and_another_retired_with_words_that_stay(ward: Ward, clerk: Client) -> None:
    order = ward.order()
    page = sent(
        clerk, "patient", order.patient_id, "Add a number", do="add", value="N-1", type="National", system="urn:n"
    ).content.decode()
    assert "National N-1 is a number of this patient." in page
    page = sent(clerk, "patient", order.patient_id, "Retire<", do="retire", words="typed wrongly").content.decode()
    assert f"<s>{order.stated_mrn}</s>" in page and shown("“typed wrongly”", page)
    assert "National N-1" in read(clerk, "order", order.pk)


@pytest.mark.parametrize(
    "said",
    [{"do": ""}, {"value": " "}, {"value": "x" * 81}, {"value": "a\nb"}, {"type": "?"}, {"system": "s" * 121}, {"edits": "0"}],
)
def test_a_number_that_makes_no_sense_is_refused_in_words(ward: Ward, clerk: Client, said: dict[str, str]) -> None:
    order = ward.order()
    given = {"do": "add", "value": "N-1", "type": "MRN", "system": "", **said}
    answer = sent(clerk, "patient", order.patient_id, "Add a number", **given)
    assert answer.status_code == 409 and "Nothing is changed." in answer.content.decode()
    assert PatientIdentifier.objects.filter(patient=order.patient).count() == 1


def test_a_taken_number_and_the_last_one_are_refused(ward: Ward, clerk: Client) -> None:
    order, other = ward.order(), ward.order()
    answer = sent(clerk, "patient", order.patient_id, "Add a number", do="add", value=other.stated_mrn, type="MRN", system="")
    assert answer.status_code == 409 and "another patient" in answer.content.decode()
    answer = sent(clerk, "patient", order.patient_id, "Retire<", do="retire", words="x")
    assert answer.status_code == 409 and "only number" in answer.content.decode()


def proposal(client: Client, first: Order, other: Order) -> str:
    return read(client, "patient-merge", first.patient_id, number=other.stated_mrn)


def test_a_merge_shows_what_would_move_then_moves_it_and_the_other_record_leads_here(ward: Ward, clerk: Client) -> None:
    first, other = ward.order(), ward.order()
    page = proposal(clerk, first, other)
    assert "differs" in page and other.accession in page and first.accession not in page
    page = sent(clerk, "patient-merge", first.patient_id, "<h1>", page=page, words="same person").content.decode()
    assert "are one now" in page and other.accession in page and shown("“same person”", page)
    old = read(clerk, "patient", other.patient_id)
    assert f'href="/patients/{first.patient_id}/"' in old and "was merged" in old and "Add a number" not in old
    assert "merged into" in read(clerk, "patients", q=other.patient.given_name)


def test_a_merge_is_undone_on_its_page_or_says_why_not(ward: Ward, clerk: Client) -> None:
    first, other = ward.order(), ward.order()
    sent(clerk, "patient-merge", first.patient_id, "<h1>", page=proposal(clerk, first, other), words="same person")
    merge = Merge.objects.get()
    page = read(clerk, "patient-unmerge", merge.pk)
    assert other.accession in page and first.accession not in page
    page = sent(clerk, "patient-unmerge", merge.pk, "<h1>", page=page, words="two people").content.decode()
    assert "The merge is undone" in page and other.accession not in page
    assert "undone already" in read(clerk, "patient-unmerge", merge.pk)
    assert clerk.post(reverse("patient-unmerge", args=[merge.pk]), {"words": "x", "version": 1}).status_code == 409


def test_a_merge_is_read_and_undone_by_nobody_else(ward: Ward, clerk: Client) -> None:
    first, other = ward.order(), ward.order()
    sent(clerk, "patient-merge", first.patient_id, "<h1>", page=proposal(clerk, first, other), words="same person")
    address, data = reverse("patient-unmerge", args=[Merge.objects.get().pk]), {"words": "x", "version": "1"}
    for client, code in ((ward.analyst(), 404), (logged_in(Role.ACCESSIONER, make_laboratory()), 404), (ward.requester(), 409)):
        assert client.post(address, data).status_code == code
    assert Merge.objects.get().state == "standing"


@pytest.mark.parametrize("number", ["nobody has this", "own"])
def test_a_number_that_leads_to_no_other_record_is_refused(ward: Ward, clerk: Client, number: str) -> None:
    order = ward.order()
    page = read(clerk, "patient-merge", order.patient_id, number=order.stated_mrn if number == "own" else number)
    assert "error-summary" in page and "Merge the two records" not in page


def test_a_merge_that_is_not_what_was_shown_is_refused(ward: Ward, clerk: Client) -> None:
    first, other = ward.order(), ward.order()
    page = proposal(clerk, first, other)
    for wrong in ({"other": str(first.patient_id)}, {"other_edits": "9"}, {"words": ""}, {"number": ""}):
        answer = sent(clerk, "patient-merge", first.patient_id, "<h1>", page=page, **{"words": "same", **wrong})
        assert answer.status_code == 409, wrong
    assert not Merge.objects.exists()


def test_who_may_not_edit_identities_reads_and_changes_nothing(ward: Ward) -> None:
    order, other, client = ward.order(), ward.order(), ward.requester()
    page = read(client, "patient", order.patient_id)
    assert order.accession in page and "Add a number" not in page and "See what would move" not in page
    assert client.post(reverse("patient", args=[order.patient_id]), {"do": "add", "value": "1", "type": "MRN"}).status_code == 409
    data = {"number": other.stated_mrn, "other": other.patient_id, "edits": 1, "other_edits": 1, "words": "x"}
    assert client.post(reverse("patient-merge", args=[order.patient_id]), data).status_code == 409
    assert PatientIdentifier.objects.count() == 2 and not Merge.objects.exists()


def test_the_order_form_offers_the_systems_that_are_in_use(ward: Ward, clerk: Client) -> None:
    order = ward.order()
    assert "mrn_system" not in read(clerk, "order-new")
    PatientIdentifier.objects.create(
        organisation=ward.hospital, patient=order.patient, system="urn:national", value="7", type="National"
    )
    assert '<option value="urn:national">' in read(clerk, "order-new")


def test_a_patient_with_many_orders_takes_no_more_queries(ward: Ward, clerk: Client, django_assert_max_num_queries) -> None:
    first = ward.order()
    for _ in range(3):
        other = ward.order()
        sent(clerk, "patient-merge", first.patient_id, "<h1>", page=proposal(clerk, first, other), words="same person")
    with django_assert_max_num_queries(15):
        read(clerk, "patient", first.patient_id)
    with django_assert_max_num_queries(10):
        read(clerk, "patients", q="Muster")
