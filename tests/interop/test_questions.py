"""Questions by the API: asked once for a key, listed, followed, cancelled, answered."""

import pytest

from accounts.roles import Role
from audit.models import Event
from questions.models import Question
from tests.factories import make_order, make_ready_intake, make_token, make_user
from tests.interop.caller import Caller
from tests.questions.people import Bench
from tests.questions.test_pages import ASKED, answer

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def caller(bench):
    return Caller(make_token(make_user(role=Role.ANALYST, organisation=bench.laboratory)))


def body(bench, **changes):
    return {"kind": "continue", "deployment": bench.test.deployment_id, "text": f">a\n{ASKED}", "seed": 5, **changes}


def test_a_question_from_the_list_of_models_to_its_answer(bench, caller):
    (model,) = caller.get("/deployments").json()
    assert (model["name"], model["served"], model["longest"]) == (bench.test.deployment_id, True, 2048)
    first, again = (caller.post("/questions", body(bench), Idempotency_Key="k1") for _ in range(2))
    assert first.status_code == 201 and again.content == first.content and again["Idempotency-Replayed"] == "true"
    asked = first.json()
    assert asked["settings"] == {"length": 60, "temperature": 1.0, "top_k": 0, "samples": 1, "seed": 5}
    assert (asked["state"], asked["use"], asked["tokens"], asked["jobs_ahead"]) == ("queued", "research use, no report", 81, 0)
    early = caller.get(f"/questions/{asked['id']}/result")
    assert (early.status_code, early.json()["code"]) == (409, "question.not-answered")
    answer("continue")
    said = caller.get(f"/questions/{asked['id']}/result").json()
    assert said["sequences"][0]["samples"][0]["bases"] == "ACGT" * 20 and said["use"] == "research use, no report"
    assert caller.get(f"/questions/{asked['id']}").json()["state"] == "scored" and Question.objects.count() == 1
    assert caller.post(f"/questions/{asked['id']}/cancel").status_code == 409


def test_faults_are_told_where_they_stand_in_the_body(bench, caller):
    refused = caller.post("/questions", body(bench, text="ACGT1", deployment="none", pooling="mean", length=0))
    faults = {fault["pointer"]: fault["detail"] for fault in refused.json()["errors"]}
    assert refused.status_code == 422 and refused.json()["code"] == "question.invalid"
    assert set(faults) == {"/text", "/deployment", "/pooling", "/length"} and faults["/text"].startswith("Line 1: “1”")
    assert caller.post("/questions", body(bench, priority="stat")).status_code == 422
    assert not Question.objects.exists()


def test_lists_go_on_behind_the_last_one(bench, caller):
    asked = [caller.post("/questions", body(bench, seed=seed)).json()["id"] for seed in range(3)]
    bench.asks("embed", ASKED)
    first = caller.get("/questions", limit=2, mine=True).json()
    second = caller.get("/questions", limit=2, mine=True, after=first["next"]).json()
    assert [one["id"] for one in first["questions"] + second["questions"]] == asked[::-1] and second["next"] is None
    assert [one["kind"] for one in caller.get("/questions", kind="embed").json()["questions"]] == ["embed"]


def test_a_question_is_cancelled_once(bench, caller):
    asked = caller.post("/questions", body(bench)).json()["id"]
    answers = [caller.post(f"/questions/{asked}/cancel", Idempotency_Key="k2") for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 200] and answers[0].json()["state"] == "cancelled"
    assert caller.get(f"/questions/{asked}/result").status_code == 409


def test_who_names_somebody_by_the_api_is_written_down_though_nothing_is_asked(bench, caller):
    order = make_order(intake=make_ready_intake(test_version=bench.test))
    refused = caller.post("/questions", body(bench, text=f">{order.stated_mrn}\n{ASKED}"), Idempotency_Key="k1")
    assert refused.status_code == 422 and not Question.objects.exists()
    assert Event.objects.get(action="question.named_somebody").object_id == str(order.patient_id)
