"""The page of validation records: proposed, approved by another person with his password, suspended with a reason."""

import pytest
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from foundation.actor import process
from registry import validation
from registry.models import Deployment, ValidationRecord
from tests.dashboard.people import logged_in
from tests.factories import PASSWORD, make_laboratory, make_test_version

pytestmark = pytest.mark.django_db
PAGE = "/validation/"


@pytest.fixture
def laboratory():
    return make_laboratory()


@pytest.fixture
def test_version(laboratory):
    made = make_test_version(laboratory=laboratory, intended_use="clinical")
    Deployment.objects.filter(pk=made.deployment_id, fingerprint="").update(fingerprint="f" * 64, golden="g" * 64)
    return made


def proposed(laboratory, test_version, role=Role.MODEL_STEWARD):
    client = logged_in(role, laboratory)
    answer = client.post(PAGE, {"do": "propose", "test": str(test_version.pk), "statement": "Isolates; 200 variants."})
    assert answer.status_code == 302
    return client, ValidationRecord.objects.get()


def test_a_steward_proposes_and_a_director_approves_with_his_password(laboratory, test_version):
    steward, record = proposed(laboratory, test_version)
    assert steward.post(PAGE, {"do": "approve", "record": str(record.pk), "password": PASSWORD}).status_code == 409
    director = logged_in(Role.DIRECTOR, laboratory)
    wrong = director.post(PAGE, {"do": "approve", "record": str(record.pk), "password": "guess"})
    assert wrong.status_code == 409 and "That is not your password" in wrong.content.decode()
    assert director.post(PAGE, {"do": "approve", "record": str(record.pk), "password": PASSWORD}).status_code == 302
    record.refresh_from_db()
    assert record.state == "approved" and Event.objects.filter(object_id=str(record.pk), action="state.approved").exists()
    assert "stands" in director.get(PAGE).content.decode()


def test_who_proposed_it_does_not_approve_it(laboratory, test_version):
    director, record = proposed(laboratory, test_version, Role.DIRECTOR)
    answer = director.post(PAGE, {"do": "approve", "record": str(record.pk), "password": PASSWORD})
    record.refresh_from_db()
    assert (answer.status_code, record.state) == (409, "proposed")
    assert "another director approves it" in director.get(PAGE).content.decode()


@pytest.mark.parametrize("how", ["person", "worker"])
def test_it_is_suspended_with_a_reason_by_a_person_or_by_what_a_worker_found(laboratory, test_version, how):
    steward, record = proposed(laboratory, test_version)
    director = logged_in(Role.DIRECTOR, laboratory)
    director.post(PAGE, {"do": "approve", "record": str(record.pk), "password": PASSWORD})
    if how == "person":
        steward.post(PAGE, {"do": "suspend", "record": str(record.pk), "words": "another aligner"})
    else:
        worker = process("engine-1")
        validation.component_changed(actor=worker, deployment=test_version.deployment_id, words="golden bits differ")
    record.refresh_from_db()
    assert record.state == "suspended" and record.words in steward.get(PAGE).content.decode()


def test_a_stranger_sees_and_suspends_nothing(laboratory, test_version):
    _, record = proposed(laboratory, test_version)
    stranger = logged_in(Role.DIRECTOR, make_laboratory())
    assert "Isolates" not in stranger.get(reverse("validation")).content.decode()
    assert stranger.post(PAGE, {"do": "decline", "record": str(record.pk), "words": "no"}).status_code == 404
    record.refresh_from_db()
    assert record.state == "proposed"


def test_a_declined_one_says_why_and_a_missing_reason_is_refused(laboratory, test_version):
    _, record = proposed(laboratory, test_version)
    director = logged_in(Role.DIRECTOR, laboratory)
    assert director.post(PAGE, {"do": "decline", "record": str(record.pk), "words": " "}).status_code == 409
    director.post(PAGE, {"do": "decline", "record": str(record.pk), "words": "too few variants"})
    assert "too few variants" in director.get(PAGE).content.decode()
