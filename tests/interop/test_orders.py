"""Orders by the API: the same services as the pages, and the same answers."""

import gzip
from datetime import timedelta
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.providers import ProviderDetails, add_provider
from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from foundation import clock
from interop.api import cursors
from orders import checking
from orders.downtimes import records
from orders.models import Intake, Order
from tests.dashboard.desk import vcf
from tests.factories import make_actor, make_token, make_user
from tests.interop.caller import BASE, SPECIMEN, Caller
from tests.reports.cases import scored_order

pytestmark = pytest.mark.django_db


def test_a_file_is_sent_checked_and_ordered_on_as_stat(site):
    caller = site.caller()
    intake = site.upload(caller)
    verdict = caller.get(f"/intakes/{intake}").json()
    assert (verdict["state"], verdict["counts"]["accepted"], verdict["kind"]) == ("ready", 3, "vcf")
    placed = caller.post("/orders", site.wanted(intake, priority="stat", stat_reason="suspected sepsis"))
    assert placed.status_code == 201 and placed["Location"] == f"{BASE}/orders/{placed.json()['id']}"
    order = Order.objects.get(pk=placed.json()["id"])
    assert (order.priority, order.rank, order.items_total, order.stated_mrn) == ("stat", 0, 3, "88-1204")
    assert order.specimen.collected_at.isoformat() == "2026-01-15T07:30:00+00:00"


def test_a_moment_with_any_offset_is_kept_and_one_outside_the_calendar_is_refused(site):
    caller = site.caller()
    placed = site.order(caller, specimen={**SPECIMEN, "collected_at": "2026-01-15T08:30:00+23:59"})
    assert Order.objects.get(pk=placed["id"]).specimen.collected_at.isoformat() == "2026-01-14T08:31:00+00:00"
    wrong = {**SPECIMEN, "collected_at": "0001-01-01T00:00:00+00:01"}
    answer = caller.post("/orders", site.wanted(site.upload(caller, vcf(400)), specimen=wrong))
    assert answer.status_code == 422 and "years 1 to 9999" in answer.json()["errors"][0]["detail"]
    reader = site.caller(Role.ANALYST)
    for at, status in (("2026-01-15T08:30:00+23:59", 200), ("0001-01-01T00:00:00+00:01", 422)):
        after = cursors.cursor(at, UUID(int=0))
        assert [reader.get(path, after=after).status_code for path in ("/orders", "/questions")] == [status, status]


def test_stat_without_a_reason_is_stat_and_flagged(site):
    placed = site.order(site.caller(), priority="stat")
    assert (placed["priority"], placed["attention"], placed["state"]) == ("stat", "stat.reason-missing", "accepted")


@pytest.mark.parametrize("how", ["plain", "gzip", "form"])
def test_a_file_comes_as_the_body_or_as_a_form(site, how):
    caller, text = site.caller(), vcf(300, 301).encode()
    if how == "form":
        form = {"file": SimpleUploadedFile("isolate.vcf", text), "sample": ""}
        headers = {"Authorization": f"Bearer {caller.token}"}
        answer = caller.client.post(f"{BASE}/intakes?test={site.test.pk}", form, headers=headers)
    else:
        body = gzip.compress(text) if how == "gzip" else text
        kind = "application/gzip" if how == "gzip" else "text/plain"
        named = {"Content_Disposition": 'attachment; filename="isolate.vcf"'}
        answer = caller.send(body, content_type=kind, query=f"test={site.test.pk}", **named)
    assert answer.status_code == 201, answer.content
    assert (answer.json()["filename"], answer.json()["state"]) == ("isolate.vcf", "waiting")
    assert Intake.objects.get().ordering_organisation == site.hospital


def test_records_come_page_by_page_and_by_outcome(site):
    caller = site.caller()
    intake = site.upload(caller, vcf(300, 301, 302) + vcf(303, ref="N").splitlines()[-1] + "\n")
    first = caller.get(f"/intakes/{intake}/records", limit=2).json()
    second = caller.get(f"/intakes/{intake}/records", limit=2, after=first["next"]).json()
    lines = [record["line"] for page in (first, second) for record in page["records"]]
    assert len(lines) == 4 and lines == sorted(set(lines)) and second["next"] is None
    odd = second["records"][-1]
    assert odd["outcome"] != "accepted" and odd["code"].startswith("vcf.") and odd["reason"]
    assert caller.get(f"/intakes/{intake}/records", outcome=odd["outcome"]).json()["records"] == [odd]


def test_the_sample_of_a_file_is_chosen_and_has_to_be_confirmed(site):
    caller = site.caller()
    intake = site.upload(caller, vcf(300, samples=("MOTHER", "CHILD"), genotypes=("0/0", "0/1")))
    assert caller.get(f"/intakes/{intake}").json()["samples"] == ["MOTHER", "CHILD"]
    assert caller.post(f"/intakes/{intake}/sample", {"sample": "FATHER"}).json()["code"] == "vcf.sample-unknown"
    chosen = caller.post(f"/intakes/{intake}/sample", {"sample": "CHILD"}).json()
    checking.check_intake(UUID(chosen["id"]))
    refused = caller.post("/orders", site.wanted(chosen["id"]))
    assert refused.status_code == 422 and refused.json()["errors"][0]["pointer"] == "/sample_confirmed"
    assert caller.post("/orders", site.wanted(chosen["id"], sample_confirmed="CHILD")).status_code == 201


def test_an_order_tells_state_progress_and_timeline_and_no_score(site):
    order = scored_order(delta=lambda n: -5.53125)
    caller = Caller(make_token(make_user(role=Role.REQUESTER, organisation=order.ordering_organisation)))
    shown = caller.get(f"/orders/{order.pk}")
    assert shown["ETag"] == f'"{order.edits}"' and shown.json()["items_done"] == order.items_total
    assert "5.53125" not in shown.content.decode() and shown.json()["released"] is False
    told = caller.get(f"/orders/{order.pk}/events").json()["events"]
    assert [event["action"] for event in told][:2] == ["order.placed", "state.accepted"]


def test_an_order_names_provider_and_site_where_the_organisation_has_them(site):
    caller, keeper = site.caller(), make_user(role=Role.ADMINISTRATOR, organisation=site.hospital)
    details = ProviderDetails(name="Dr Rita Ordering", phone="+00 000 2000")
    asking = add_provider(organisation=site.hospital, details=details, actor=actor_for(keeper))
    listed = caller.get("/organisations").json()
    assert [one["id"] for one in listed] == [str(site.hospital.pk)] and listed[0]["providers"][0]["id"] == str(asking.pk)
    wanted = site.wanted(site.upload(caller))
    assert caller.post("/orders", wanted).json()["errors"][0]["pointer"] == "/provider"
    named = {"provider": str(asking.pk), "site": listed[0]["sites"][0]["id"]}
    placed = caller.post("/orders", {**wanted, **named}).json()
    assert (placed["provider"], placed["site"]) == ("Dr Rita Ordering", listed[0]["sites"][0]["name"])


def test_lists_are_filtered_and_paged_without_gap(site):
    caller = site.caller()
    placed = [site.order(caller, placer={"system": "LIS", "number": str(n)})["id"] for n in range(3)]
    first = caller.get("/orders", limit=2).json()
    second = caller.get("/orders", limit=2, after=first["next"]).json()
    assert [row["id"] for row in first["orders"] + second["orders"]] == placed[::-1] and second["next"] is None
    found = caller.get("/orders", placer_system="LIS", placer_number="1").json()["orders"]
    assert [row["id"] for row in found] == [placed[1]]
    assert caller.get("/orders", priority="stat").json()["orders"] == []
    assert len(caller.get("/orders", open="true", held="false", state="accepted").json()["orders"]) == 3


def test_a_page_of_orders_takes_as_many_queries_for_one_as_for_many(site, django_assert_max_num_queries):
    caller = site.caller()
    for number in range(4):
        site.order(caller, placer={"number": str(number)})
    caller.get("/me")  # its use is noted
    with django_assert_max_num_queries(5):  # the token, its owner's memberships, a look from either side, and the orders
        assert len(caller.get("/orders").json()["orders"]) == 4


def test_what_a_token_writes_stands_in_events_with_its_id(site):
    caller = site.caller()
    placed = site.order(caller)
    token = caller.get("/me").json()
    written = Event.objects.filter(object_id=placed["id"], action="order.placed").get()
    assert written.facts["token"] and str(written.actor_id) == token["id"]
    assert caller.token not in str(list(Event.objects.values()))


class TestDecisions:
    """Cancel, hold, release and priority, each on the order as it was seen."""

    def test_they_need_the_edit_that_was_seen(self, site):
        caller = site.caller(Role.ANALYST)
        order = site.order(site.caller())
        path, why = f"/orders/{order['id']}/priority", {"priority": "asap", "reason": "worse"}
        assert caller.post(path, why).status_code == 428
        assert caller.post(path, why, If_Match="*").json()["code"] == "api.precondition-missing"
        assert caller.post(path, why, If_Match='"99"').json()["code"] == "state.stale"
        done = caller.post(path, why, If_Match=f'"{order["edits"]}"')
        assert done.status_code == 200 and done.json()["priority"] == "asap" and done["ETag"] == f'"{done.json()["edits"]}"'
        assert caller.post(path, why, If_Match=f'"{order["edits"]}"').status_code == 412

    def test_why_it_is_stat_can_be_said_later_and_once(self, site):
        caller = site.caller()
        order = site.order(caller, priority="stat")
        path, edits = f"/orders/{order['id']}/stat-reason", f'"{order["edits"]}"'
        assert caller.post(path, {"reason": " "}, If_Match=edits).status_code == 422
        done = caller.post(path, {"reason": "sepsis"}, If_Match=edits)
        assert (done.json()["stat_reason"], done.json()["attention"]) == ("sepsis", "")
        assert caller.post(path, {"reason": "another"}, If_Match=done["ETag"]).status_code == 409

    def test_hold_release_and_cancel_reach_the_order(self, site):
        caller = site.caller(Role.ANALYST)
        order = site.order(site.caller())
        held = caller.post(f"/orders/{order['id']}/hold", {"reason": "hold.specimen"}, If_Match='"1"')
        assert held.json()["hold"] == "hold.specimen"
        freed = caller.post(f"/orders/{order['id']}/release", If_Match=held["ETag"])
        assert freed.json()["hold"] == ""
        ended = caller.post(f"/orders/{order['id']}/cancel", {"reason": "placed twice"}, If_Match=freed["ETag"])
        assert (ended.json()["state"], ended.json()["cancelled_reason"]) == ("cancelled", "placed twice")
        again = caller.post(f"/orders/{order['id']}/cancel", {"reason": "placed twice"}, If_Match=ended["ETag"])
        assert again.status_code == 409

    def test_one_person_does_not_hold_anothers_stat_order(self, site):
        order = site.order(site.caller(), priority="stat", stat_reason="sepsis")
        answer = site.caller(Role.ANALYST).post(f"/orders/{order['id']}/hold", {"reason": "hold.specimen"}, If_Match='"1"')
        assert (answer.status_code, answer.json()["code"]) == (409, "hold.two-people")


def test_an_order_taken_on_paper_is_entered_late_by_who_may_and_says_what_was_true(site):
    downtime, at = down(site), clock.now() - timedelta(hours=3)
    late = {"downtime": downtime.code, "requested_at": at.isoformat(), "taken_by": "Nurse Joy", "reason": "unreachable"}
    user = site.user(Role.ACCESSIONER)
    caller = Caller(make_token(user))
    placed = site.order(caller, late_entry=late)
    told = caller.get(f"/orders/{placed['id']}").json()["late_entry"]
    assert (told["downtime"], told["taken_by"], told["requested_at"][:16]) == (downtime.code, "Nurse Joy", at.isoformat()[:16])
    assert Order.objects.get(pk=placed["id"]).promised_at == at
    wrong = site.wanted(site.upload(caller, vcf(400)), late_entry={**late, "downtime": "D9", "reason": "other"})
    pointers = {one["pointer"] for one in caller.post("/orders", wrong).json()["errors"]}
    assert {"/late_entry/downtime", "/late_entry/words"} <= pointers
    answer = Caller(make_token(user, "place", "view_order")).post("/orders", {**wrong, "late_entry": late})
    assert answer.status_code == 422 and "/late_entry" in {one["pointer"] for one in answer.json()["errors"]}


def down(site):
    """A downtime of the laboratory, from four hours ago."""
    director = make_actor(role=Role.DIRECTOR, organisation=site.test.definition.laboratory)
    given = {"what": "interfaces", "words": "moved", "began_at": clock.now() - timedelta(hours=4)}
    return records.open_downtime(actor=director, laboratory_id=site.test.definition.laboratory_id, **given)


def test_a_parameter_that_is_misspelt_or_said_twice_lists_nothing(site):
    caller = site.caller()
    site.order(caller)
    for query, name in (({"prioritty": "stat"}, "prioritty"), ({"priority": ["stat", "routine"]}, "priority")):
        answer = caller.get("/orders", **query)
        assert answer.status_code == 422 and [one["parameter"] for one in answer.json()["errors"]] == [name]
    assert caller.send(vcf(300), query=f"test={site.test.pk}&organistion={site.hospital.pk}").status_code == 422
    assert len(caller.get("/orders", priority="routine").json()["orders"]) == 1
