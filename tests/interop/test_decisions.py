"""Two people hold, an order replaces and repeats another, lists are narrowed as on the worklist, HEAD is GET without a body."""

from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.roles import Role
from accounts.services import actor_for
from audit.models import Event
from orders import assignment, uploads
from orders.models import HoldRequest, Intake, Order
from tests.dashboard.desk import vcf
from tests.factories import make_token, make_user
from tests.interop.caller import BASE, Caller

pytestmark = pytest.mark.django_db


def decide(caller: Caller, order: str, deed: str, body: object = None, **headers: str):
    edits = Order.objects.get(pk=order).edits
    return caller.post(f"/orders/{order}/{deed}", body, **{"If_Match": f'"{edits}"', **headers})


def said(answer, status: int) -> str:
    assert answer.status_code == status, answer.content
    return str(answer.json().get("code", ""))


class TestTwoPeople:
    """Another person's STAT order waits when one asks and a second agrees: the rule of the page."""

    def test_one_asks_and_another_agrees(self, site):
        order = site.order(site.caller(), priority="stat", stat_reason="sepsis")["id"]
        first, second = site.caller(Role.ANALYST), site.caller(Role.REVIEWER)
        assert said(decide(first, order, "hold", {"reason": "hold.input"}), 409) == "hold.two-people"
        asked = decide(first, order, "hold/ask", {"reason": "hold.input", "words": "the file is of another run"})
        assert (asked.status_code, asked.json()["hold"]) == (200, "")
        told = asked.json()["hold_asked"]
        assert (told["reason"], told["words"]) == ("hold.input", "the file is of another run")
        assert said(decide(second, order, "hold/ask", {"reason": "hold.input"}), 409) == "hold.asked"
        answer = {"agree": True, "words": "I looked at it"}
        assert said(decide(first, order, "hold/answer", answer), 409) == "hold.two-people"
        assert said(decide(second, order, "hold/answer", {"agree": True, "words": ""}), 422) == "order.invalid"
        assert said(decide(second, order, "hold/answer", answer, If_Match='"77"'), 412) == "state.stale"
        held = decide(second, order, "hold/answer", answer).json()
        assert (held["hold"], held["hold_asked"], held["priority"]) == ("hold.input", None, "stat")
        assert Event.objects.get(action="order.held").facts["asked_by"] == str(HoldRequest.objects.get().asked_by_id)

    def test_who_placed_it_answers_and_neither_a_program_nor_a_narrow_token_does(self, site):
        program = site.user(Role.SERVICE)
        order = site.order(Caller(make_token(program)), priority="stat", stat_reason="sepsis")["id"]
        decide(site.caller(Role.ANALYST), order, "hold/ask", {"reason": "hold.input"})
        answer = {"agree": False, "words": "it runs"}
        assert said(decide(Caller(make_token(program)), order, "hold/answer", answer), 403) == "access.not-permitted"
        ward = site.user()
        mine = site.order(Caller(make_token(ward)), priority="stat", stat_reason="sepsis")["id"]
        decide(site.caller(Role.ANALYST), mine, "hold/ask", {"reason": "hold.input"})
        assert said(decide(Caller(make_token(ward, "view_order")), mine, "hold/answer", answer), 403) == "access.not-permitted"
        declined = decide(Caller(make_token(ward)), mine, "hold/answer", answer).json()
        assert (declined["hold"], declined["hold_asked"], HoldRequest.objects.get(order=mine).state) == ("", None, "declined")
        assert said(decide(Caller(make_token(ward)), mine, "hold/answer", answer), 409) == "hold.answered"


def test_an_order_is_replaced_and_repeated(site):
    caller = site.caller()
    first = site.order(caller)
    wanted = site.wanted(site.upload(caller, vcf(400)), indication="corrected", replaces_reason="another indication")
    assert said(caller.post(f"/orders/{first['id']}/replace", wanted), 428) == "api.precondition-missing"
    assert said(decide(caller, first["id"], "replace", wanted, If_Match='"9"'), 412) == "state.stale"
    made = decide(caller, first["id"], "replace", wanted, Idempotency_Key="one")
    assert made.status_code == 201 and made.json()["replaces"] == first["id"], made.content
    old = caller.get(f"/orders/{first['id']}").json()
    assert (old["state"], old["replaced_by"], old["repeats"]) == ("cancelled", made.json()["id"], None)
    other = site.wanted(site.upload(caller, vcf(401)))
    more = {**other, "replaces_reason": "once more"}
    assert said(decide(caller, first["id"], "replace", more), 409) == "order.replaced"
    repeated = site.order(caller, repeats=made.json()["id"], placer={"number": "2"})
    assert repeated["repeats"] == made.json()["id"]
    for wrong in (str(uuid4()), made.json()["id"]):
        patient = {**other["patient"], "mrn": "another"}
        refused = caller.post("/orders", {**other, "repeats": wrong, "patient": patient})
        assert refused.status_code == 422 and refused.json()["errors"][0]["pointer"] in ("/repeats", "/patient/mrn")


def test_a_list_is_narrowed_as_the_worklist_is_and_refused_in_its_words(site):
    caller, analyst = site.caller(), site.user(Role.ANALYST)
    placed = [site.order(caller, placer={"number": str(n)}, priority=p)["id"] for n, p in enumerate(("stat", "routine", "urgent"))]
    mine = Caller(make_token(analyst))
    order = Order.objects.get(pk=placed[1])
    assignment.take(order=order, actor=actor_for(analyst), expected_edits=order.edits)
    said_of = lambda **query: [one["id"] for one in mine.get("/orders", **query).json()["orders"]]  # noqa: E731
    assert said_of(assignee="me") == said_of(assignee=str(analyst.pk)) == [placed[1]] and said_of(chip="mine") == []
    assert [one["id"] for one in caller.get("/orders", chip="mine").json()["orders"]] == placed[::-1]
    assert said_of(chip="attention") == [placed[0]] and said_of(chip="done") == [] and len(said_of(chip="open")) == 3
    assert said_of(assignee="nobody", priority="urgent", test=str(site.test.definition_id)) == [placed[2]]
    assert said_of(q=order.accession) == [placed[1]] and said_of(organisation=str(site.hospital.pk)) == placed[::-1]
    today = order.placed_at.date()
    days = {"placed_from": today - timedelta(days=1), "placed_to": today + timedelta(days=1)}
    assert len(said_of(**{name: day.isoformat() for name, day in days.items()})) == 3
    assert said_of(placed_from=(today + timedelta(days=2)).isoformat()) == []
    wrong = {"chip": "none", "q": "x", "test": "1", "assignee": str(uuid4()), "due_from": "tomorrow"}
    refused = mine.get("/orders", **wrong)
    assert refused.status_code == 422
    assert {one["parameter"]: one["detail"] for one in refused.json()["errors"]} == {
        "chip": "there is no such choice for you.",
        "q": "a search takes at least 2 characters.",
        "test": "there is no such choice for you.",
        "assignee": "there is no such person among those who work here.",
        "due_from": "write the day like 2026-01-31.",
    }
    swapped = mine.get("/orders", placed_from="2026-02-01", placed_to="2026-01-01").json()["errors"]
    assert swapped == [{"detail": "it ends before it begins.", "parameter": "placed_to"}]


def test_head_is_answered_as_get_without_a_body(site):
    caller = site.caller()
    order = site.order(caller)["id"]
    user = make_user(role=Role.ANALYST, organisation=site.laboratory)
    reader = Caller(make_token(user))
    for path in (f"/orders/{order}", "/orders?limit=1", f"/orders/{order}/results", f"/orders/{uuid4()}", "/me", "/openapi.json"):
        head, get = (getattr(reader.client, method)(f"{BASE}{path}", headers=reader._headers({})) for method in ("head", "get"))
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert head["Content-Type"] == get["Content-Type"] and head.get("ETag") == get.get("ETag")
        assert head["Content-Length"] == str(len(get.content))
    refused = reader.client.head(f"{BASE}/orders/{order}/cancel", headers=reader._headers({}))
    assert refused.status_code == 405 and refused["Allow"] == "POST"


def test_an_upload_that_was_withdrawn_is_told_as_such(site):
    user = site.user()
    caller = Caller(make_token(user))
    pk = site.upload(caller, checked=False)
    uploads.withdraw(actor=actor_for(user), intake=Intake.objects.get(pk=pk))
    assert caller.get(f"/intakes/{pk}").json()["state"] == "withdrawn"
