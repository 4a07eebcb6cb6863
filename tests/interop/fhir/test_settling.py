"""What came by FHIR and waits is settled on pages; all numbers of a patient are kept; an end is told with its reason."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from interop.fhir import systems
from interop.models import FhirOrder
from orders import conflicts, rejection, replacing, uploads
from orders.models import Intake, Order, PatientIdentifier
from reports import wrong_patient
from tests.dashboard.desk import vcf
from tests.factories import make_laboratory, make_request, make_user
from tests.interop.caller import Site
from tests.interop.fhir.sender import Sender, coded, document, issues, patient, specimen

pytestmark = pytest.mark.django_db
NUMBER = {"system": "https://hospital.example/orders", "value": "55-201"}
MRN = {"system": "https://hospital.example/mrn", "value": "88-1204"}
NATIONAL = {"type": coded(systems.IDENTIFIER_TYPE, "NI"), "system": "https://state.example/citizens", "value": "61 03 14 007"}


@pytest.fixture
def sender(site: Site) -> Sender:
    return Sender(site)


def person(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def read(client: Client, name: str, *args: object, status: int = 200) -> str:
    answer = client.get(reverse(name, args=args), follow=True)
    assert answer.status_code == status
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", answer.content.decode()))


def conflict(sender: Sender) -> tuple[Order, Order]:
    """An urgent order, and a STAT one that came under its number."""
    standing, waiting = sender.order(), sender.order(priority="stat", reasonCode=[{"text": "sepsis"}])
    return Order.objects.get(pk=standing), Order.objects.get(pk=waiting)


def decide(client: Client, order: Order, do: str, words: str = "") -> str:
    data = {"do": do, "words": words, "edits": order.edits}
    answer = client.post(reverse("order-conflict", args=[order.pk]), data, follow=True)
    return answer.content.decode()


class TestNumbersThatAreTaken:
    """A STAT order under a taken number is another one, the same one, or refused: a person says so."""

    def test_both_are_shown_and_another_order_runs(self, sender, site):
        standing, waiting = conflict(sender)
        client = person(site.user(Role.ANALYST))
        assert f'href="{reverse("order-conflict", args=[waiting.pk])}"' in client.get(reverse("worklist")).content.decode()
        page = read(client, "order-conflict", waiting.pk)
        assert standing.accession in page and "sepsis" in page and "follow-up" in page and "by FHIR" in page
        looks = Event.objects.filter(action="order.viewed").values_list("object_id", flat=True)
        assert set(looks) == {str(standing.pk), str(waiting.pk)}
        assert "accepted and runs" in decide(client, waiting, "new")
        waiting.refresh_from_db()
        assert (waiting.state, waiting.attention, waiting.placer_number) == ("accepted", "stat.reason-missing", "55-201")
        assert sender.task(str(waiting.pk))["status"] == "accepted"
        event = Event.objects.get(action="order.conflict_settled")
        assert (event.reason, event.facts) == ("order.conflict-new", {"standing": str(standing.pk)})
        assert "nothing to decide" in decide(client, waiting, "same", "it is not")

    def test_the_same_order_becomes_stat_and_nobody_loses_that(self, sender, site):
        standing, waiting = conflict(sender)
        ward = person(site.user())
        assert "does not let you make it so" in decide(ward, waiting, "same", "sent twice"), "a requester promotes nothing"
        waiting.refresh_from_db()
        assert waiting.state == "submitted"
        assert "is rejected" in decide(person(site.user(Role.ANALYST)), waiting, "same", "sent twice")
        standing.refresh_from_db()
        waiting.refresh_from_db()
        assert (standing.priority, standing.rank, waiting.state) == ("stat", 0, "rejected")
        assert waiting.cancelled_reason == f"The same as order {standing.accession}: sent twice"
        task = sender.task(str(waiting.pk))
        assert (task["status"], task["statusReason"]["coding"][0]["code"]) == ("rejected", "order.conflict-refused")

    def test_it_is_refused_with_words_and_by_who_may_cancel_alone(self, sender, site):
        _, waiting = conflict(sender)
        ward = person(site.user())
        assert "Say how you know" in decide(ward, waiting, "refuse"), "words are needed"
        assert "Choose one" in decide(ward, waiting, "")
        with pytest.raises(conflicts.Stale):
            conflicts.refuse(order=waiting, words="x", actor=actor_for(site.user()), expected_edits=9)
        for user, status in ((site.user(Role.REVIEWER), 403), (make_user(role=Role.DIRECTOR, organisation=make_laboratory()), 404)):
            address = reverse("order-conflict", args=[waiting.pk])
            client = person(user)
            assert [client.get(address).status_code, client.post(address, {"do": "new"}).status_code] == [status, status]
        assert "is rejected" in decide(ward, waiting, "refuse", "another ward's number")
        assert sender.task(str(waiting.pk))["statusReason"]["text"] == "another ward's number"


class TestWhatIsNoOrderYet:
    """It is counted, shown with what came, and settled by people."""

    def test_it_is_counted_and_refused_on_its_page(self, sender, site):
        pk = sender.order(patient(), specimen(), document("no VCF"), priority="stat", identifier=[NUMBER])
        client = person(site.user(Role.ANALYST))
        assert re.search(r'id="chip-attention"[^>]*>Needs attention<b>1</b>', client.get(reverse("worklist")).content.decode())
        page = read(client, "asked", pk)
        for said in ("55-201", "88-1204", "Okafor, Ngozi Ada", "S-7", "isolate.vcf", "Dr A. Lovelace", "waits for a person"):
            assert said in page
        row = FhirOrder.objects.get(pk=pk)
        address = reverse("asked", args=[pk])
        assert client.post(address, {"do": "close", "words": "", "version": row.version}).status_code == 409
        assert client.post(address, {"do": "close", "words": "on paper", "version": row.version - 1}).status_code == 409
        reviewer = person(site.user(Role.REVIEWER))
        assert reviewer.post(address, {"do": "close", "words": "x", "version": row.version}).status_code == 409
        assert person(make_user(role=Role.DIRECTOR, organisation=make_laboratory())).get(address).status_code == 404
        assert client.post(address, {"do": "close", "words": "ordered on paper", "version": row.version}).status_code == 302
        viewed = Event.objects.filter(object_id=pk, action="fhir.viewed").values_list("actor_name", flat=True)
        assert len(viewed) == 2, "who looks again and again has looked once"
        assert sender.task(pk)["statusReason"]["text"] == "ordered on paper" and "Nothing comes of it" in read(client, "asked", pk)

    def test_a_sample_is_chosen_there_and_the_order_says_how_it_came(self, sender, site):
        file = vcf(300, samples=("tumour", "blood"), genotypes=("0/1", "0/0"))
        pk = sender.order(patient(), specimen(), document(file))
        client, row = person(site.user()), FhirOrder.objects.get(pk=pk)
        assert "Which sample of the file" in read(client, "asked", pk)
        data = {"do": "sample", "sample": "liver", "version": row.version}
        assert client.post(reverse("asked", args=[pk]), data).status_code == 409
        assert client.post(reverse("asked", args=[pk]), data | {"sample": "tumour"}).status_code == 302
        sender.check()
        page = read(client, "asked", pk)
        assert Order.objects.get(pk=pk).accession in page, "its page leads to the order"
        assert "Came by FHIR 55-201 of https://hospital.example/orders received" in page

    @pytest.mark.parametrize(("priority", "state", "task"), [("routine", "closed", "rejected"), ("stat", "parked", "on-hold")])
    def test_an_upload_that_is_withdrawn_ends_what_waits_for_it(self, sender, site, priority, state, task):
        upload = site.upload(sender.caller, checked=False)
        named = [{"identifier": {"system": systems.INTAKE, "value": upload}}]
        pk = sender.order(patient(), specimen(), checked=False, supportingInfo=named, priority=priority)
        uploads.withdraw(actor=actor_for(site.user()), intake=Intake.objects.get(pk=upload))
        sender.check()
        told = sender.task(pk)
        assert (FhirOrder.objects.get(pk=pk).state, told["status"]) == (state, task)
        assert told["statusReason"]["coding"][0]["code"] == "fhir.file-withdrawn"


class TestNumbersOfAPatient:
    """Every number is a row, letter for letter; a number of somebody else is a question for a person."""

    def test_all_are_kept_and_each_finds_the_patient(self, sender):
        numbers = [NATIONAL, {**MRN, "type": coded(systems.IDENTIFIER_TYPE, "MR")}]
        pk = sender.order(patient(identifier=numbers), specimen(), document())
        order = Order.objects.get(pk=pk)
        rows = set(PatientIdentifier.objects.values_list("system", "value", "type"))
        assert rows == {(NATIONAL["system"], NATIONAL["value"], "NI"), (MRN["system"], MRN["value"], "MRN")}
        assert (order.stated_mrn, order.state) == ("88-1204", "accepted"), "the record number comes first, wherever it stands"
        told = sender.get(f"/Patient/{order.patient_id}").json()["identifier"]
        assert {one["value"]: one["type"]["coding"][0]["code"] for one in told} == {"88-1204": "MR", NATIONAL["value"]: "NI"}
        more = {"system": "https://insurer.example/members", "value": "X-1"}
        other = sender.order(patient(identifier=[NATIONAL, more]), specimen(), document(), identifier=[{**NUMBER, "value": "2"}])
        assert Order.objects.get(pk=other).patient_id == order.patient_id and order.patient.identifiers.count() == 3
        found = sender.get("/ServiceRequest", {"patient.identifier": f"{more['system']}|X-1"}).json()
        assert found["total"] == 2

    def test_numbers_of_two_records_and_other_details_are_an_identity_check(self, sender, site):
        first = Order.objects.get(pk=sender.order())
        ada = patient(identifier=[NATIONAL], name=[{"use": "official", "family": "Byron", "given": ["Ada"]}])
        sender.order(ada, specimen(), document(), identifier=[{**NUMBER, "value": "2"}])
        for number, said in (("3", patient(identifier=[MRN, NATIONAL])), ("4", {**ada, "identifier": [MRN, NATIONAL]})):
            pk = sender.order(said, specimen(), document(), identifier=[{**NUMBER, "value": number}])
            order = Order.objects.get(pk=pk)
            assert (order.state, order.attention) == ("submitted", "identity.mismatch")
            assert order.patient.identifiers.count() == 0 and first.patient.identifiers.count() == 1
            clerk = person(make_user(role=Role.ACCESSIONER, organisation=site.laboratory))
            assert NATIONAL["value"] in read(clerk, "order-identity", pk)

    def test_more_numbers_are_another_content_and_one_alone_hashes_as_before(self, sender):
        pk = sender.order()
        assert sender.post(sender.bundle()).json()["entry"][-1]["resource"]["id"] == pk
        again = sender.post(sender.bundle(patient(identifier=[MRN, NATIONAL]), specimen(), document()))
        assert issues(again, 409) == [("order.conflict", "")]


def ends(sender: Sender, pk: object) -> tuple[str, str, str, str]:
    found = [sender.get(f"/{kind}/{pk}").json() for kind in ("ServiceRequest", "Task", "DiagnosticReport")]
    return (*(one["status"] for one in found), found[1]["statusReason"]["coding"][0]["code"])


def test_each_end_of_an_order_says_which_it_was(sender, site):
    placed = [Order.objects.get(pk=sender.order(identifier=[{**NUMBER, "value": str(n)}])) for n in range(2)]
    ward, director = actor_for(site.user()), actor_for(site.user(Role.DIRECTOR))
    upload = Intake.objects.get(pk=site.upload(sender.caller, vcf(400)))
    wanted = make_request(upload, indication="corrected")
    new = replacing.replace(actor=ward, request=wanted, replaced=placed[0], words="a typing error", expected_edits=placed[0].edits)
    wrong_patient.declare(order=placed[1], words="mixed up", actor=director, expected_edits=placed[1].edits)
    assert ends(sender, placed[0].pk) == ("revoked", "cancelled", "cancelled", "order.replaced")
    assert sender.get(f"/ServiceRequest/{new.pk}").json()["replaces"] == [{"reference": f"ServiceRequest/{placed[0].pk}"}]
    assert ends(sender, placed[1].pk) == (*["entered-in-error"] * 3, "order.wrong-patient")
    _, waiting = conflict(sender)
    clerk = actor_for(make_user(role=Role.ACCESSIONER, organisation=site.laboratory))
    rejection.reject(order=waiting, reason="specimen.leaked", words="", actor=clerk)
    assert ends(sender, waiting.pk) == ("revoked", "rejected", "cancelled", "specimen.rejected")
