"""Scores by the API: the same door as on the pages."""

import json

import pytest

from accounts.roles import Role
from reports import reviewing, wrong_patient
from reports.models import ReportVersion
from tests.factories import make_laboratory, make_organisation, make_token, make_user
from tests.interop.caller import Caller
from tests.reports import cases, signers

pytestmark = pytest.mark.django_db
DOORS = ("results", "results.csv", "report", "report.pdf")


@pytest.fixture
def order():
    return cases.ordered_by(make_organisation(), delta=lambda n: -5.53125)


def caller(role, organisation, *scopes):
    return Caller(make_token(make_user(role=role, organisation=organisation), *scopes))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("role", [Role.REQUESTER, Role.SERVICE])
def test_a_requester_gets_no_score_before_release_and_makes_no_draft(door, role, order):
    answer = caller(role, order.ordering_organisation).get(f"/orders/{order.pk}/{door}")
    assert (answer.status_code, answer.json()["code"]) == (409, "report.withheld")
    assert b"5.53125" not in answer.content and not ReportVersion.objects.exists()


@pytest.mark.parametrize("door", DOORS)
def test_a_token_that_was_not_given_unreleased_scores_gets_none_whatever_its_owner_may(door, order):
    answer = caller(Role.ANALYST, order.performing_laboratory, "view_order").get(f"/orders/{order.pk}/{door}")
    assert answer.json()["code"] == "report.withheld"


@pytest.mark.parametrize("door", DOORS)
def test_to_a_stranger_the_order_does_not_exist(door, order):
    assert caller(Role.DIRECTOR, make_laboratory()).get(f"/orders/{order.pk}/{door}").status_code == 404


def test_an_analyst_reads_scores_page_by_page_as_csv_and_as_report(order):
    reader = caller(Role.ANALYST, order.performing_laboratory)
    first = reader.get(f"/orders/{order.pk}/results", limit=6).json()
    second = reader.get(f"/orders/{order.pk}/results", limit=6, after=first["next"]).json()
    assert [line["ordinal"] for page in (first, second) for line in page["results"]] == list(range(10)) and second["next"] is None
    assert first["results"][0]["delta"] == -5.53125 and first["report_state"] == "unsigned" and first["released"] is False
    csv = reader.get(f"/orders/{order.pk}/results.csv")
    assert csv["Content-Type"].startswith("text/csv") and csv.content.count(b"-5.53125") == 10
    report = reader.get(f"/orders/{order.pk}/report")
    assert json.loads(report.content)["order"]["accession"] == order.accession
    assert report["ETag"] == f'"{ReportVersion.objects.get().content_sha256}"'
    assert reader.get(f"/orders/{order.pk}/report.pdf").content.startswith(b"%PDF")


def test_before_all_is_scored_there_is_no_report(order):
    running = cases.scored_order(finished=False)
    answer = caller(Role.ANALYST, running.performing_laboratory).get(f"/orders/{running.pk}/report")
    assert (answer.status_code, answer.json()["code"]) == (409, "report.not-scored")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("state", "code"), [("entered_in_error", "order.wrong-patient"), ("cancelled", "report.recalled")])
def test_a_requester_is_told_that_what_he_read_was_recalled(door, state, code):
    order = signers.scored(signers=1, priority="stat")
    lab, reader = signers.laboratory_of(order), caller(Role.REQUESTER, order.ordering_organisation)
    director = lab.actor(Role.DIRECTOR)
    signers.sign(reviewing.preliminary(order=order, actor=director, seen=signers.seen(order, lab).pk), director)
    assert reader.get(f"/orders/{order.pk}/{door}").status_code == 200
    now = cases.read(order)
    if state == "cancelled":
        reviewing.reject(order=now, actor=director, seen=signers.seen(now, lab).pk, note="The control failed.")
    else:
        wrong_patient.declare(order=now, words="The labels were exchanged.", actor=director, expected_edits=now.edits)
    answer = reader.get(f"/orders/{order.pk}/{door}")
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    own = caller(Role.ANALYST, order.performing_laboratory).get(f"/orders/{order.pk}/{door}")
    assert "no-store" in own["Cache-Control"]
    if door.startswith("report"):
        assert (own.status_code, own.json()["code"]) == (409, code)
    elif state == "entered_in_error":
        assert b"entered in error: wrong patient, not valid" in own.content
