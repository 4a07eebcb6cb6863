"""Orders by FHIR: kept before they are answered, placed when their file is checked, never lost, never doubled."""

from datetime import date, timedelta

import pytest

from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from foundation import clock
from interop.fhir import ordering, systems
from interop.models import FhirOrder
from orders import patients
from orders.downtimes import records
from orders.models import Intake, Order, PatientIdentifier
from tests.dashboard.desk import vcf
from tests.factories import make_actor, make_provider, make_user
from tests.interop.fhir.sender import Sender, alone, document, issues, patient, request, specimen

pytestmark = pytest.mark.django_db
NUMBER = {"system": "https://hospital.example/orders", "value": "55-201"}


@pytest.fixture
def sender(site):
    return Sender(site)


def test_a_transaction_is_kept_and_becomes_an_order_when_its_file_is_checked(sender):
    answer = sender.post(sender.bundle())
    entry = answer.json()["entry"][-1]
    pk = entry["resource"]["id"]
    assert entry["response"]["status"] == "201 Created" and entry["response"]["location"] == f"ServiceRequest/{pk}"
    assert FhirOrder.objects.get().state == "waiting" and not Order.objects.exists(), "nothing is ordered on an unchecked file"
    assert sender.task(pk)["status"] == "received"
    sender.check()
    order = Order.objects.get()
    assert (str(order.pk), order.state, order.priority, order.indication) == (pk, "accepted", "urgent", "follow-up")
    assert (order.placer_system, order.placer_number) == (NUMBER["system"], NUMBER["value"])
    assert (order.patient.family_name, order.patient.given_name, order.patient.sex) == ("Okafor", "Ngozi Ada", "female")
    assert order.patient.birth_date == date(1961, 3, 14) and order.stated_mrn == "88-1204"
    assert (order.specimen.identifier, order.specimen.type, order.specimen.source) == ("S-7", "Blood culture isolate", "Left arm")
    assert order.specimen.collected_at.isoformat() == "2026-01-15T07:30:00+00:00"
    assert order.intake.filename == "isolate.vcf" and order.items_total == 3 and order.placed_by == FhirOrder.objects.get().sender


def test_what_was_said_is_told_again(sender):
    pk = sender.order()
    told = sender.get(f"/ServiceRequest/{pk}").json()
    assert told["requester"] == {"display": "Dr A. Lovelace"} and told["authoredOn"].startswith("2026-01-15T")
    assert told["priority"] == "urgent" and told["reasonCode"] == [{"text": "follow-up"}] and told["status"] == "active"
    found = sender.get(f"/{told['specimen'][0]['reference']}").json()
    assert found["type"]["coding"][0]["code"] == "446131002" and found["identifier"][0]["value"] == "S-7"
    who = sender.get(f"/{told['subject']['reference']}").json()
    assert who["identifier"][0]["value"] == "88-1204" and who["name"][0]["family"] == "Okafor"


def test_an_order_alone_with_all_inside(sender):
    answer = sender.post(alone(request(sender.test)), "/ServiceRequest")
    assert answer.status_code == 201 and answer["Location"].endswith(f"/fhir/ServiceRequest/{answer.json()['id']}")
    assert answer["ETag"] == f'W/"{answer.json()["meta"]["versionId"]}"' and answer["Last-Modified"]
    sender.check()
    assert Order.objects.get().state == "accepted"


def test_an_order_on_a_checked_upload_for_a_known_patient_and_specimen_is_placed_at_once(sender, site):
    first = sender.get(f"/ServiceRequest/{sender.order()}").json()
    upload = site.upload(sender.caller, vcf(400))
    body = request(
        sender.test,
        subject=first["subject"],
        specimen=first["specimen"],
        supportingInfo=[{"identifier": {"system": systems.INTAKE, "value": upload}}],
        identifier=[{**NUMBER, "value": "55-202"}],
    )
    answer = sender.post(body, "/ServiceRequest")
    assert answer.status_code == 201, answer.content
    order = Order.objects.get(pk=answer.json()["id"])
    assert order.state == "accepted" and order.patient_id == Order.objects.exclude(pk=order.pk).get().patient_id
    by_number = {**body, "subject": {"identifier": {"system": "https://hospital.example/mrn", "value": "88-1204"}}}
    assert sender.post(by_number, "/ServiceRequest").status_code == 200, "the same, said otherwise"


def test_a_retired_number_names_nobody_and_is_shown_as_an_old_one(sender, site):
    first = sender.get(f"/ServiceRequest/{sender.order()}").json()
    clerk = make_actor(role=Role.ACCESSIONER, organisation=site.hospital)
    number, system = PatientIdentifier.objects.get(), "https://hospital.example/mrn"
    patients.add_identifier(patient=number.patient, system=system, value="88-1205", type="MRN", actor=clerk)
    patients.retire_identifier(identifier=number, words="typed wrongly", actor=clerk)
    asked = {"system": system, "value": "88-1204"}
    again = [{**NUMBER, "value": "55-203"}]
    body = request(sender.test, subject={"identifier": asked}, specimen=first["specimen"], identifier=again)
    assert issues(sender.post(body, "/ServiceRequest"), 422) == [("fhir.reference-unresolved", "ServiceRequest.subject")]
    assert sender.get("/ServiceRequest", {"patient.identifier": f"{system}|88-1204"}).json()["total"] == 0
    assert sender.get("/ServiceRequest", {"patient.identifier": f"{system}|88-1205"}).json()["total"] == 1
    shown = {one["value"]: one["use"] for one in sender.get(f"/{first['subject']['reference']}").json()["identifier"]}
    assert shown == {"88-1204": "old", "88-1205": "official"}


@pytest.mark.parametrize("checked", [True, False])
def test_the_same_content_under_the_same_number_is_the_same_order(sender, checked):
    pk = sender.order(checked=checked)
    again = sender.post(sender.bundle())
    assert again.json()["entry"][-1]["response"]["status"] == "200 OK" and again.json()["entry"][-1]["resource"]["id"] == pk
    single = sender.post(alone(request(sender.test)), "/ServiceRequest")
    assert (single.status_code, single.json()["id"]) == (200, pk), "however it is wrapped"
    assert (FhirOrder.objects.count(), Intake.objects.count()) == (1, 1)


@pytest.mark.parametrize("checked", [True, False])
def test_other_content_under_the_same_number_is_a_conflict(sender, checked):
    sender.order(checked=checked)
    assert issues(sender.post(sender.bundle(reasonCode=[{"text": "another"}])), 409) == [("order.conflict", "")]
    assert FhirOrder.objects.count() == 1


def test_stat_under_a_taken_number_is_parked_and_not_lost(sender):
    sender.order()
    pk = sender.order(priority="stat")
    order = Order.objects.get(pk=pk)
    assert (order.state, order.attention, order.priority) == ("submitted", "order.conflict", "stat")
    task = sender.task(pk)
    assert (task["status"], task["priority"]) == ("on-hold", "stat")
    assert task["statusReason"]["coding"][0]["code"] == "order.conflict"
    assert "needs-attention" in [one["code"] for one in task["businessStatus"]["coding"]]
    assert sender.order(priority="stat") == pk


def test_an_order_that_came_by_the_api_is_found_again(sender, site):
    body = site.wanted(site.upload(sender.caller), placer={"system": NUMBER["system"], "number": NUMBER["value"]})
    placed = sender.caller.post("/orders", body).json()
    own = {"system": f"urn:uuid:{site.hospital.pk}", "value": "88-1204"}
    told = sender.bundle(
        patient(name=[{"family": "Okafor", "given": ["Ngozi"]}], identifier=[own]),
        specimen(type={"text": "Isolate"}, collection={**specimen()["collection"], "bodySite": {"text": "Blood culture"}}),
        document(),
        priority="routine",
    )  # fmt: skip
    del told["entry"][-1]["resource"]["reasonCode"]
    again = sender.post(told).json()["entry"][-1]
    assert (again["response"]["status"], again["resource"]["id"], Order.objects.count()) == ("200 OK", placed["id"], 1)
    assert issues(sender.post(sender.bundle()), 409) == [("order.conflict", "")]
    assert sender.get("/ServiceRequest", {"identifier": f"{NUMBER['system']}|{NUMBER['value']}"}).json()["total"] == 1
    assert sender.get(f"/ServiceRequest/{placed['id']}").json()["priority"] == "routine"


def test_a_conditional_create_gives_what_is_there_and_loses_no_stat(sender):
    pk = sender.order()
    condition = f"identifier={NUMBER['system']}|{NUMBER['value']}"
    other = sender.bundle(reasonCode=[{"text": "another"}])
    other["entry"][-1]["request"]["ifNoneExist"] = condition
    assert sender.post(other).json()["entry"][-1]["resource"]["id"] == pk
    single = alone(request(sender.test, reasonCode=[{"text": "another"}]))
    assert sender.post(single, "/ServiceRequest", If_None_Exist=condition).status_code == 200
    assert issues(sender.post(single, "/ServiceRequest", If_None_Exist="identifier=a|b"), 412) == [("fhir.condition", "")]
    stat = {**single, "priority": "stat"}
    assert sender.post(stat, "/ServiceRequest", If_None_Exist=condition).status_code == 201


def test_stat_without_a_reason_is_stat_and_flagged_and_the_reason_is_taken(sender):
    pk = sender.order(priority="stat")
    assert (Order.objects.get(pk=pk).attention, sender.task(pk)["status"]) == ("stat.reason-missing", "accepted")
    said = [{"url": systems.STAT_REASON, "valueString": "suspected sepsis"}]
    other = sender.order(priority="stat", extension=said, identifier=[{**NUMBER, "value": "2"}])
    assert (Order.objects.get(pk=other).stat_reason, Order.objects.get(pk=other).attention) == ("suspected sepsis", "")
    assert sender.get(f"/ServiceRequest/{other}").json()["extension"] == said


def test_a_reason_that_is_sent_later_is_given_to_the_order_that_lacks_it(sender):
    pk = sender.order(priority="stat")
    for reason in ("suspected sepsis", "suspected sepsis"):  # the second time it is the very same request
        said = [{"url": systems.STAT_REASON, "valueString": reason}]
        answer = sender.post(sender.bundle(priority="stat", extension=said))
        assert answer.json()["entry"][-1]["resource"]["id"] == pk
    order = Order.objects.get()
    assert (order.stat_reason, order.attention, order.state) == ("suspected sepsis", "", "accepted")
    assert Event.objects.filter(action="order.stat_reason_given").count() == 1
    other = sender.order(priority="stat", extension=[{"url": systems.STAT_REASON, "valueString": "something else"}])
    assert Order.objects.get(pk=other).attention == "order.conflict"  # two reasons: a person looks


def test_no_priority_is_routine_as_fhir_says_and_an_unknown_one_is_none(sender):
    body = sender.bundle()
    del body["entry"][-1]["resource"]["priority"]
    for unknown in ("STAT", "Urgent", "bogus", "S", " stat", "immediate"):
        found = issues(sender.post(sender.bundle(priority=unknown)), 422)
        assert found == [("fhir.code-unknown", "Bundle.entry[3].resource.priority")]
    assert not FhirOrder.objects.exists()
    sender.post(body)
    sender.check()
    assert Order.objects.get().priority == "routine"


def test_a_known_number_of_somebody_else_is_parked(sender):
    sender.order()
    pk = sender.order(patient(birthDate="1990-01-01"), specimen(), document(), identifier=[{**NUMBER, "value": "2"}])
    task = sender.task(pk)
    assert (task["status"], task["statusReason"]["coding"][0]["code"]) == ("on-hold", "identity.mismatch")
    found = sender.get("/ServiceRequest", {"patient.identifier": "https://hospital.example/mrn|88-1204"}).json()
    assert found["total"] == 2, "also while nobody has settled who it is"


def test_a_file_that_is_refused_is_parked_and_may_be_sent_again_mended(sender):
    pk = sender.order(patient(), specimen(), document("not a VCF"), priority="stat")
    task = sender.task(pk)
    assert task["status"] == "on-hold" and task["statusReason"]["text"] and not Order.objects.exists()
    assert sender.get(f"/ServiceRequest/{pk}").json()["contained"][0]["name"][0]["family"] == "Okafor"
    mended = sender.order(priority="stat")
    assert Order.objects.get().pk == FhirOrder.objects.get(pk=mended).pk and mended != pk
    assert (sender.task(pk)["status"], sender.get(f"/ServiceRequest/{pk}").json()["status"]) == ("rejected", "revoked")


class TestSamples:
    """A file with several samples needs a choice, which is stored."""

    FILE = vcf(300, 301, samples=("tumour", "blood"), genotypes=("0/1", "0/0"))

    def test_the_sender_names_it(self, sender):
        link = {"reference": "urn:uuid:61ebe359-0002", "extension": [{"url": systems.VCF_SAMPLE, "valueString": "tumour"}]}
        pk = sender.order(patient(), specimen(), document(self.FILE), supportingInfo=[link])
        assert (Order.objects.get(pk=pk).intake.sample, Order.objects.get(pk=pk).items_total) == ("tumour", 2)
        assert sender.get(f"/ServiceRequest/{pk}").json()["supportingInfo"][0]["extension"][0]["valueString"] == "tumour"

    def test_without_it_a_person_of_the_hospital_chooses(self, sender, site):
        pk = sender.order(patient(), specimen(), document(self.FILE), priority="stat")
        assert sender.task(pk)["statusReason"]["coding"][0]["code"] == "vcf.sample-choice"
        row = FhirOrder.objects.get(pk=pk)
        ordering.choose_sample(actor=actor_for(site.user()), asked=row, sample="tumour", expected_version=row.version)
        assert sender.task(pk)["status"] == "received"
        sender.check()
        assert Order.objects.get(pk=pk).intake.sample == "tumour"


def test_a_file_with_size_and_hash_is_held_against_them(sender):
    right = sender.post(sender.bundle(patient(), specimen(), document(vcf(300), size=len(vcf(300)))))
    assert right.status_code == 200
    wrong = document(vcf(301), size=3, hash="AAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    place = "Bundle.entry[2].resource.content[0].attachment"
    found = issues(sender.post(sender.bundle(patient(), specimen(), wrong)), 422)
    assert found == [("fhir.file-differs", f"{place}.size"), ("fhir.file-differs", f"{place}.hash")]


def test_who_asks_is_one_of_the_providers_that_the_hospital_keeps(sender, site):
    known = make_provider(site.hospital, "Dr A. Lovelace", identifier_system="NPI", identifier="1234567893")
    npi = {"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567893"}
    assert issues(sender.post(sender.bundle()), 422) == [("order.invalid", "Bundle.entry[3].resource.requester")]
    wrong = {"identifier": {**npi, "value": "1"}}
    assert issues(sender.post(sender.bundle(requester=wrong)), 422)[0][0] == "fhir.requester"
    order = Order.objects.get(pk=sender.order(requester={"identifier": npi}))
    assert (order.provider, order.provider_contact) == (known, known.contact)


def test_an_order_taken_on_paper_says_so_in_an_extension_and_counts_from_when_it_was_authored(site):
    at = (clock.now() - timedelta(hours=3)).replace(microsecond=0)
    director = make_actor(role=Role.DIRECTOR, organisation=site.laboratory)
    records.open_downtime(
        actor=director, laboratory_id=site.laboratory.pk, what="interfaces", words="moved", began_at=at - timedelta(hours=1)
    )
    sender = Sender(site, make_user(role=Role.ACCESSIONER, organisation=site.hospital))
    parts = {"downtime": "D1", "reason": "interface", "takenBy": "Nurse Joy"}
    late = {"url": systems.LATE_ENTRY, "extension": [{"url": name, "valueString": words} for name, words in parts.items()]}
    pk = sender.order(extension=[late], authoredOn=at.isoformat())
    told = sender.get(f"/ServiceRequest/{pk}").json()
    assert Order.objects.get().promised_at == at and told["extension"] == [late] and told["authoredOn"][:19] == at.isoformat()[:19]
    for order, where in (
        ({"extension": [late], "authoredOn": "2026-01-15T08:45:00+01:00"}, "resource.authoredOn"),
        ({"extension": [{**late, "extension": late["extension"][1:]}]}, "resource.extension[0].extension"),
        ({"extension": [{**late, "extension": [{"url": "x", "valueString": "y"}]}]}, "resource.extension[0].extension[0].url"),
    ):
        answer = sender.post(sender.bundle(identifier=[{"system": "urn:x", "value": where[-9:]}], **order))
        assert answer.status_code in (400, 422) and where in answer.content.decode(), answer.content
