"""Break-glass: who may open whose reports, what that opens and what it leaves, and that others hear of it and review it."""

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.db import Error, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts import break_glass
from accounts.models import BreakGlass, Membership
from accounts.roles import TABLE, Role, Verb
from audit.models import Event
from foundation import clock
from notices.models import Receipt
from orders import emergency
from orders.models import Order
from outbox.models import Message
from tests.factories import PASSWORD, make_organisation, make_token, make_user
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db
FORM = {"do": "open", "kind": "breakglass.emergency", "words": "Unconscious, no history", "password": PASSWORD}


def client_of(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def place(order: Order, hospital) -> Order:
    """The hospital's own order at the same laboratory, of another patient."""
    intake = cases.make_ready_intake(organisation=hospital, test_version=order.test_version)
    return cases.scored_order(intake=intake, patient=cases.patient(mrn="OWN-1"))


@pytest.fixture
def ward(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A released report of one hospital, and a requester of another one that orders from the same laboratory."""
    order = signers.scored()
    lab = signers.laboratory_of(order)
    signers.interpret(order, lab)
    signers.issued(order, lab)
    hospital = make_organisation("Second hospital")
    place(order, hospital)
    user = make_user(role=Role.REQUESTER, organisation=hospital, name="Dr Night")
    identifier = order.patient.identifiers.get()
    named = {"number": identifier.value, "born": order.patient.birth_date.isoformat()}
    form = {**FORM, "laboratory": order.performing_laboratory_id, **named}
    ahead = timedelta()

    def later(by: timedelta) -> None:
        nonlocal ahead
        ahead += by

    real = clock._source
    monkeypatch.setattr(clock, "_source", lambda: real() + ahead)
    yield SimpleNamespace(
        order=cases.read(order), lab=lab, user=user, client=client_of(user), form=form, later=later, hospital=hospital
    )


def doors(order: Order) -> dict[str, str]:
    return {name: reverse(name, args=[order.pk]) for name in DOORS}


def statuses(client: Client, order: Order) -> dict[str, int]:
    return {name: client.get(address).status_code for name, address in doors(order).items()}


def opened(ward: SimpleNamespace, **changes: object):
    return ward.client.post(reverse("break-glass"), {**ward.form, **changes})


DOORS = ["order", "report-page", "report-pdf", "order-results.csv", "order-live", "order-comments", "order-audit"]
SHUT = dict.fromkeys(DOORS, 404)
OPEN = {**SHUT, "report-page": 200, "report-pdf": 200, "order-results.csv": 200}


def test_it_opens_one_patients_released_reports_for_an_hour_and_every_read_is_told(ward: SimpleNamespace) -> None:
    assert statuses(ward.client, ward.order) == SHUT
    assert opened(ward).status_code == 302
    page = ward.client.get(reverse("break-glass")).content.decode()
    assert ward.order.accession in page and "Break-glass is open" in page and "Everything you read is written down" in page
    assert statuses(ward.client, ward.order) == OPEN
    assert ward.order.accession not in ward.client.get(reverse("worklist")).content.decode(), "it is in no list"
    ward.client.get(reverse("report-page", args=[ward.order.pk]))
    grant = BreakGlass.objects.get()
    read = Event.objects.filter(facts__grant=str(grant.pk), facts__break_glass=True, organisation_id=grant.laboratory_id)
    said = list(read.order_by("id").values_list("action", flat=True))
    assert said == ["break_glass.order_seen", "report.viewed", "report.downloaded", "results.exported", "report.viewed"], (
        "none coalesced"
    )
    ward.later(timedelta(minutes=60, seconds=1))
    assert statuses(ward.client, ward.order) == SHUT
    assert break_glass.close_ended() == 1 and break_glass.close_ended() == 0
    grant.refresh_from_db()
    assert (grant.ended_how, grant.ended_at) == ("by_itself", grant.until)


def test_what_is_not_released_stays_shut_under_it(ward: SimpleNamespace) -> None:
    """Another order of the same patient, whose scores nobody has signed."""
    same = {name: getattr(ward.order.patient, name) for name in ("birth_date", "family_name", "given_name", "sex")}
    again = cases.patient(mrn=ward.form["number"], **same)
    intake = cases.make_ready_intake(organisation=ward.order.ordering_organisation, test_version=ward.order.test_version)
    unsigned = cases.scored_order(intake=intake, patient=again)
    assert unsigned.patient_id == ward.order.patient_id
    opened(ward)
    files = statuses(ward.client, unsigned)
    page = ward.client.get(reverse("report-page", args=[unsigned.pk])).content.decode()
    assert "has not been released" in page and files["report-pdf"] == files["order-results.csv"] == 403


def test_the_person_ends_it_and_no_program_acts_under_it(ward: SimpleNamespace) -> None:
    opened(ward)
    bearer = {"Authorization": f"Bearer {make_token(ward.user, Verb.VIEW_ORDER)}"}
    for address in (
        f"/api/v1/orders/{ward.order.pk}",
        f"/api/v1/orders/{ward.order.pk}/report",
        f"/fhir/ServiceRequest/{ward.order.pk}",
    ):
        assert Client().get(address, headers=bearer).status_code == 404
    ward.client.post(reverse("break-glass"), {"do": "end"})
    assert statuses(ward.client, ward.order) == SHUT and BreakGlass.objects.get().ended_how == "by_the_person"


def test_it_ends_with_the_role_that_allowed_it(ward: SimpleNamespace) -> None:
    opened(ward)
    Membership.objects.filter(user=ward.user).update(ended_at=clock.now())
    assert ward.client.get(reverse("report-page", args=[ward.order.pk])).status_code == 404


def test_an_unknown_number_and_another_birth_date_are_answered_alike_and_five_are_enough(ward: SimpleNamespace) -> None:
    wrong = [{"number": "no such"}, {"born": "1901-01-01"}, {"number": ward.form["number"][:-1]}, {"born": "1901-01-02"}]
    answers = [opened(ward, **one).content.decode() for one in wrong]
    assert all("no patient with exactly this number and this birth date" in one for one in answers)
    assert "Open for an hour" in opened(ward, number="").content.decode() and not BreakGlass.objects.exists()
    opened(ward, number="again")
    refused = opened(ward)
    assert refused.status_code == 409 and "Five times within an hour" in refused.content.decode()
    missed = Event.objects.filter(action="break_glass.missed", organisation_id=ward.order.performing_laboratory_id)
    assert missed.count() == 5 and not any(ward.form["number"] in str(one.facts) for one in missed)
    assert not BreakGlass.objects.exists()


@pytest.mark.parametrize("role", list(Role))
def test_who_may_open_follows_the_table_and_a_relation_to_the_laboratory(ward: SimpleNamespace, role: Role) -> None:
    """The role in a hospital that orders there; and, whatever the role, in one that does not."""
    there, stranger = make_user(role=role, organisation=ward.hospital), make_user(role=role, organisation=make_organisation())
    may = Verb.BREAK_GLASS in TABLE[role] and role is not Role.SERVICE
    assert may is (role in (Role.REQUESTER, Role.DIRECTOR))
    never = 302 if role is Role.SERVICE else 404  # a program logs in nowhere
    answers = [client_of(user).post(reverse("break-glass"), ward.form).status_code for user in (there, stranger)]
    assert answers == ([302, 409] if may else [never, never]) and BreakGlass.objects.count() == may
    colleague = client_of(make_user(role=role, organisation=ward.hospital))
    wrong = colleague.post(reverse("break-glass"), {**ward.form, "password": "wrong"})
    assert wrong.status_code == (409 if may else never) and BreakGlass.objects.count() == may


def test_directors_and_auditors_are_told_at_once_and_another_person_reviews_it_once(ward: SimpleNamespace) -> None:
    auditor, director = ward.lab.user(Role.AUDITOR), ward.lab.user(Role.DIRECTOR)
    opened(ward)
    emergency.deliver(Message.objects.get(topic=emergency.TOPIC).payload)
    assert set(Receipt.objects.values_list("user_id", flat=True)) >= {auditor.pk, director.pk}
    ward.client.get(reverse("report-page", args=[ward.order.pk]))
    grant, look = BreakGlass.objects.get(), client_of(auditor)
    address = reverse("break-glass-opening", args=[grant.pk])
    assert "Dr Night" in look.get(reverse("break-glasses")).content.decode()
    said = {"justified": "yes", "words": "The ward confirmed it"}
    assert look.post(address, said).status_code == 409, "while it is open"
    ward.client.post(reverse("break-glass"), {"do": "end"})
    page = look.get(address).content.decode()
    assert "Unconscious, no history" in page and "Looked at the report" in page and "Was it justified?" in page
    assert look.post(address, {"justified": "yes", "words": " "}).status_code == 409
    assert look.post(address, said).status_code == 302 and look.post(address, said | {"justified": "no"}).status_code == 409
    assert "The ward confirmed it" in look.get(address).content.decode()
    for client in (ward.client, client_of(make_user(role=Role.AUDITOR, organisation=make_organisation()))):
        assert client.get(address).status_code == 404
    assert ward.client.get(reverse("break-glasses")).status_code == 404


CHANGED = "UPDATE accounts_breakglass SET {}"
CHANGES = {
    "no reason": "words = ''",
    "another reason": "words = 'x'",
    "more time": "until = until + interval '1 minute'",
    "another patient": f"patient_id = '{uuid4()}'",
    "an end after its time": "ended_at = until + interval '1 s', ended_how = 'by_itself'",
    "its own person's review": "reviewed_at = now(), reviewed_by_id = user_id, justified = true, review_words = 'fine'",
    "half a review": "justified = true",
}
AGAIN = (
    "INSERT INTO accounts_breakglass SELECT (jsonb_populate_record(b, jsonb_build_object('id', gen_random_uuid(), {}))).*"
    " FROM accounts_breakglass b"
)


def _refused(sql: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
            transaction.set_rollback(True)
    except Error:
        return True
    return False


def test_the_database_keeps_an_opening_as_it_was(ward: SimpleNamespace) -> None:
    opened(ward)
    assert [what for what, change in CHANGES.items() if not _refused(CHANGED.format(change))] == []
    assert _refused("DELETE FROM accounts_breakglass")
    break_glass.end(actor=signers.actor_for(ward.user))
    assert _refused(CHANGED.format("ended_at = NULL, ended_how = ''")), "it is not opened again"
    fresh = "'ended_at', NULL, 'ended_how', ''"
    assert _refused(AGAIN.format(fresh)), "a proof opens once"
    assert _refused(AGAIN.format(f"{fresh}, 'proof_id', gen_random_uuid()")), "nothing opens without one"
