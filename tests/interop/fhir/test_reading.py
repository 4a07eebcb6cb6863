"""What is told of orders: by id, by number, page by page; and nothing of a score before release."""

import pytest

from accounts.roles import Role
from accounts.services import actor_for
from interop.fhir import ordering, reported, statuses, systems
from interop.fhir.urls import ROUTES
from interop.fhir.valuesets import OBSERVATION_STATUS, PRIORITY, REPORT_STATUS, REQUEST_STATUS, TASK_STATUS
from interop.machines import FHIR_ORDER
from interop.models import FhirOrder
from orders import services, urgency
from orders.machines import ORDER
from orders.models import Order
from registry.priority import Priority
from reports.machines import REPORT
from reports.models import ReportKind, ReportVersion
from tests.dashboard.desk import vcf
from tests.factories import make_organisation
from tests.interop.caller import Site
from tests.interop.fhir.sender import Sender, document, issues, patient, specimen
from tests.interop.fhir.shapes import require_valid
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db
SYSTEM = "https://hospital.example/orders"


@pytest.fixture
def sender(site):
    return Sender(site)


def reader(order: Order, role: Role = Role.REQUESTER) -> Sender:
    site = Site.__new__(Site)
    site.test, site.laboratory, site.hospital = order.test_version, order.performing_laboratory, order.ordering_organisation
    return Sender(site, site.user(role))


class TestTheTable:
    """No state of a machine without its words in FHIR, and no word that FHIR does not have."""

    def test_every_state_has_a_row(self):
        assert set(statuses.ORDERS) == ORDER.states and set(statuses.ASKED) == FHIR_ORDER.states
        assert set(statuses.KINDS) == set(ReportKind) and set(statuses.VERSIONS) == REPORT.states
        assert set(statuses.PRIORITIES) == set(Priority.values) and set(Order.OPEN) - {"draft"} == statuses.ON_HOLD

    def test_every_word_is_one_of_fhir(self):
        rows = [*statuses.ORDERS.values(), *filter(None, statuses.ASKED.values())]
        assert {row.request for row in rows} <= set(REQUEST_STATUS) and {row.task for row in rows} <= set(TASK_STATUS)
        reports = [*(row.report for row in rows), *statuses.KINDS.values(), *statuses.VERSIONS.values()]
        assert set(filter(None, reports)) <= set(REPORT_STATUS) and set(filter(None, statuses.KINDS.values())) <= set(
            OBSERVATION_STATUS
        )
        assert set(statuses.PRIORITIES.values()) == set(PRIORITY)

    def test_nothing_is_final_or_preliminary_before_its_release(self):
        before = {row.report for row in statuses.ORDERS.values()}
        assert before == {None, "registered", "cancelled", "entered-in-error"} and statuses.KINDS[ReportKind.UNSIGNED] is None


def told(sender: Sender, pk: str) -> tuple[str, str, str]:
    found = [sender.get(f"/{kind}/{pk}").json() for kind in ("ServiceRequest", "Task", "DiagnosticReport")]
    return tuple(one.get("status", one["resourceType"]) for one in found)  # type: ignore[return-value]


def test_an_order_through_its_life(sender, site):
    pk = sender.order(checked=False)
    assert told(sender, pk) == ("active", "received", "OperationOutcome")
    sender.check()
    assert told(sender, pk) == ("active", "accepted", "registered")
    order, analyst = Order.objects.get(pk=pk), actor_for(site.user(Role.ANALYST))
    urgency.hold(order=order, reason="hold.specimen", actor=analyst, expected_edits=order.edits)
    assert told(sender, pk) == ("on-hold", "on-hold", "registered")
    assert sender.task(pk)["statusReason"]["coding"][0]["code"] == "hold.specimen"
    order.refresh_from_db()
    services.cancel(actor=analyst, order=order, reason="placed twice", expected_edits=order.edits)
    assert told(sender, pk) == ("revoked", "cancelled", "cancelled")
    assert sender.task(pk)["statusReason"]["text"] == "placed twice"


def test_versions_and_times_move_with_the_order(sender, site):
    first = sender.get(f"/Task/{sender.order(checked=False)}")
    sender.check()
    second = sender.get(f"/Task/{first.json()['id']}")
    assert second["ETag"] != "" and second.json()["meta"]["lastUpdated"] > first.json()["meta"]["lastUpdated"]
    head = sender.caller.client.head(f"/fhir/Task/{first.json()['id']}", headers=sender.caller._headers({}))
    assert (head.status_code, head["ETag"], head.content) == (200, second["ETag"], b"")


class TestSearch:
    """By number and by what refers to what; with a total, links and pages."""

    def test_by_number_and_by_reference(self, sender):
        pk = sender.order()
        order = Order.objects.get(pk=pk)
        queries = [
            ("ServiceRequest", {"identifier": f"{SYSTEM}|55-201"}),
            ("ServiceRequest", {"identifier": "55-201"}),
            ("ServiceRequest", {"identifier": f"{systems.ACCESSION}|{order.accession}"}),
            ("ServiceRequest", {"patient.identifier": "https://hospital.example/mrn|88-1204"}),
            ("ServiceRequest", {"patient.identifier": "88-1204", "identifier": "55-201", "_id": pk}),
            ("Task", {"identifier": f"{SYSTEM}|55-201"}),
            ("Task", {"focus": f"ServiceRequest/{pk}"}),
            ("DiagnosticReport", {"based-on": f"ServiceRequest/{pk}"}),
            ("DiagnosticReport", {"identifier": f"{systems.REPORT}|{order.accession}"}),
        ]
        for kind, query in queries:
            found = sender.get(f"/{kind}", query).json()
            assert [one["resource"]["id"] for one in found["entry"]] == [pk] and found["total"] == 1, (kind, query)
        for query in ({"identifier": f"{SYSTEM}|none"}, {"identifier": "|55-201"}, {"patient.identifier": f"{SYSTEM}|88-1204"}):
            assert sender.get("/ServiceRequest", query).json()["total"] == 0

    def test_pages_follow_each_other_without_gap_and_mix_what_is_no_order_yet(self, sender):
        sent = [sender.order(identifier=[{"system": SYSTEM, "value": str(n)}], checked=n < 3) for n in range(5)]
        page = sender.get("/ServiceRequest", {"patient.identifier": "88-1204", "_count": "2"}).json()
        found = [one["resource"]["id"] for one in page["entry"]]
        for _ in range(2):
            (following,) = [link["url"] for link in page["link"] if link["relation"] == "next"]
            page = sender.caller.client.get(following, headers=sender.caller._headers({})).json()
            found += [one["resource"]["id"] for one in page["entry"]]
        assert (page["total"], sorted(found), [link["relation"] for link in page["link"]]) == (5, sorted(sent), ["self"])

    def test_what_is_no_search_is_refused_or_told(self, sender):
        assert issues(sender.get("/Task", {"status": "ready"}), 400) == [("fhir.search-unknown", "")]
        assert issues(sender.get("/Task"), 400) == [("fhir.search-nothing", "")]
        for query in (
            {"identifier": "a|"},
            {"identifier": "\0"},
            {"_id": "x"},
            {"focus": "Patient/1"},
            {"_id": "1", "_count": "0"},
        ):
            assert issues(sender.get("/Task", query), 400) == [("fhir.search-value", "")]
        lenient = sender.get("/Task", {"identifier": "x", "status": "ready"}, Prefer="handling=lenient").json()
        assert lenient["entry"][0]["search"]["mode"] == "outcome" and "status" not in lenient["link"][0]["url"]

    def test_a_page_takes_as_many_queries_for_one_as_for_many(self, sender, django_assert_max_num_queries):
        for number in range(4):
            sender.order(identifier=[{"system": SYSTEM, "value": str(number)}])
        for kind, most in (("ServiceRequest", 7), ("Task", 7)):
            with django_assert_max_num_queries(most):
                assert sender.get(f"/{kind}", {"identifier": "0", "_count": "9"}).json()["total"] == 1
            with django_assert_max_num_queries(most):
                query = {"patient.identifier": "88-1204"} if kind == "ServiceRequest" else {"identifier": "1"}
                assert sender.get(f"/{kind}", query).json()["total"] in (4, 1)


class TestReports:
    """Through the one door for results."""

    @pytest.mark.parametrize("role", [Role.REQUESTER, Role.SERVICE, Role.ANALYST])
    def test_before_release_there_is_a_status_and_no_result_for_anybody(self, role):
        order = cases.ordered_by(make_organisation(), delta=lambda n: -5.53125)
        answer = reader(order, role).get(f"/DiagnosticReport/{order.pk}")
        assert answer.json()["status"] == "registered" and "result" not in answer.json() and b"5.53125" not in answer.content
        assert not {"contained", "presentedForm", "conclusion"} & set(answer.json()) and not ReportVersion.objects.exists()

    def test_a_released_version_tells_scores_and_no_diagnosis(self):
        order = cases.ordered_by(make_organisation())
        signers.issued(order, signers.laboratory_of(order))
        found = reader(order).get(f"/DiagnosticReport/{order.pk}").json()
        scores = [one for one in found["contained"] if one["resourceType"] == "Observation"]
        assert found["status"] == "preliminary" and len(found["result"]) == len(scores) == order.items_total
        first = scores[0]
        assert first["code"]["coding"] == [{"system": systems.SCORE, "code": "delta-log-likelihood"}]
        assert first["valueQuantity"]["value"] == cases.wave(0) and "ecoli-orf-2k" in first["method"]["text"]
        assert first["device"] == {"reference": "#model"} and first["status"] == "preliminary" and "interpretation" not in first
        components = {one["code"]["coding"][0]["code"]: one["valueString"] for one in first["component"]}
        assert {"48013-7", "69547-8", "69551-0", "position"} == set(components)
        assert "conclusionCode" not in found and found["conclusion"] == "DEMONSTRATION – NOT FOR CLINICAL USE"
        assert found["resultsInterpreter"] == [{"display": "Reviewer"}]
        assert [form["url"] for form in found["presentedForm"]] == [
            f"/api/v1/orders/{order.pk}/report.pdf", f"/api/v1/orders/{order.pk}/results.csv",
        ]  # fmt: skip

    def test_a_failed_item_says_so_and_too_many_are_left_to_the_files(self, monkeypatch):
        order = cases.ordered_by(make_organisation(), delta=lambda n: None if n == 1 else -1.0)
        signers.issued(order, signers.laboratory_of(order))
        found = reader(order).get(f"/DiagnosticReport/{order.pk}").json()
        assert (
            "valueQuantity" not in found["contained"][2] and found["contained"][2]["dataAbsentReason"]["text"] == "engine.no-score"
        )
        monkeypatch.setattr(reported, "MOST", 3)
        found = reader(order).get(f"/DiagnosticReport/{order.pk}").json()
        assert "result" not in found and found["presentedForm"]


class TestCapability:
    """What is said to be served is what is routed."""

    def test_it_is_open_and_true(self, client):
        found = client.get("/fhir/metadata").json()
        require_valid(found)
        served = {(one["type"], code["code"]) for one in found["rest"][0]["resource"] for code in one["interaction"]}
        routed = set()
        for route in ROUTES:
            kind, _, rest = route.address.strip("/").partition("/")
            if kind not in ("", "metadata"):
                routed.add((kind, "create" if route.method == "POST" else "read" if rest else "search-type"))
        assert served == routed and found["fhirVersion"] == "4.0.1"


def test_people_close_what_never_became_an_order(sender, site):
    pk = sender.order(patient(), specimen(), document("no VCF"))
    row = FhirOrder.objects.get(pk=pk)
    ordering.close(actor=actor_for(site.user()), asked=row, words="ordered on paper", expected_version=row.version)
    assert told(sender, pk)[:2] == ("revoked", "rejected") and sender.task(pk)["statusReason"]["text"] == "ordered on paper"
    assert sender.order(patient(), specimen(), document(vcf(300))) != pk, "the number is free again"
