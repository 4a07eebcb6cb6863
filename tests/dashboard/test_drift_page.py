"""The pages of drift: a light for each stream in words, pictures with their tables, and nothing for strangers."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from drift import following
from drift.models import Call, FrozenReference, Missing
from foundation import clock
from tests.drift.rows import fill, frozen, noon, today
from tests.drift.test_following import counted
from tests.factories import make_laboratory, make_test_version, make_user

pytestmark = pytest.mark.django_db


def client(role: Role, laboratory: object) -> Client:
    made = Client()
    made.force_login(make_user(role=role, organisation=laboratory))  # type: ignore[arg-type]
    return made


def test_who_may_sees_lights_pictures_and_tables_and_strangers_see_no_stream() -> None:
    delta = frozen(5)["delta"]
    laboratory, stream = delta.test_version.definition.laboratory, reverse("drift-stream", args=[delta.pk])
    for days_ago, number in ((4, 4000), (3, 100)):
        counted(delta, days_ago, number)
    following.follow()
    for role in (Role.DIRECTOR, Role.MODEL_STEWARD, Role.OPERATOR):
        person = client(role, laboratory)
        page = person.get(reverse("drift")).content.decode()
        assert "too few results" in page and stream in page
        page = person.get(stream).content.decode()
        assert (
            page.count("<svg") == 4 and page.count('scope="row">below ') == 1 and "learning" in page and "too few results" in page
        )
        assert ("Freeze a new reference" in page) == (role != Role.OPERATOR)
    for role in (Role.ANALYST, Role.REQUESTER, Role.AUDITOR):
        assert [client(role, laboratory).get(address).status_code for address in (reverse("drift"), stream)] == [403, 403]
    stranger = client(Role.DIRECTOR, make_laboratory())
    page = stranger.get(reverse("drift")).content.decode()
    assert stream not in page and "Nothing is measured yet." in page and stranger.get(stream).status_code == 404


def test_a_reference_is_frozen_by_the_form_and_refused_in_words() -> None:
    test = make_test_version()
    fill(test, noon(2), 2500)
    steward, day = client(Role.MODEL_STEWARD, test.definition.laboratory), today() - timedelta(days=2)
    said = {"test": str(test.pk), "since": str(day), "until": str(today())}
    assert "before today" in steward.post(reverse("drift-freeze"), said, follow=True).content.decode()
    said["until"] = str(day)
    assert "Frozen from 2,500 results" in steward.post(reverse("drift-freeze"), said, follow=True).content.decode()
    assert "no window yet" in steward.get(reverse("drift")).content.decode()
    assert client(Role.OPERATOR, test.definition.laboratory).post(reverse("drift-freeze"), said).status_code == 403
    assert client(Role.DIRECTOR, make_laboratory()).post(reverse("drift-freeze"), said).status_code == 404
    assert FrozenReference.objects.filter(feature="delta").count() == 1


def test_a_call_is_seen_to_and_closed_on_the_page_and_a_gap_is_told() -> None:
    delta = frozen(4)["delta"]
    laboratory = delta.test_version.definition.laboratory
    counted(delta, 3, 4000, shift=0.6)
    following.follow()
    Missing.objects.create(
        at=clock.now(), organisation_id=laboratory.pk, model_version_id=delta.model_version_id, deployment_id="x", kind="clinical",
        number=12, why="test",
    )  # fmt: skip
    call, steward = Call.objects.get(), client(Role.MODEL_STEWARD, laboratory)
    address, stream = reverse("drift-call", args=[call.pk]), reverse("drift-stream", args=[delta.pk])
    page = steward.get(reverse("drift")).content.decode()
    assert "▲ call" in page and "One window alone" in page and "<b>12</b>results not recorded" in page
    assert client(Role.OPERATOR, laboratory).post(address, {"do": "acknowledge"}).status_code == 403
    assert client(Role.DIRECTOR, make_laboratory()).post(address, {"do": "acknowledge"}).status_code == 404
    steward.post(address, {"do": "acknowledge"})
    assert "sees to it since" in steward.get(stream).content.decode()
    steward.post(address, {"do": "close", "reason": " "})
    assert Call.objects.get().state == "acknowledged"
    steward.post(address, {"do": "close", "reason": "a new site"})
    assert "a new site" in steward.get(stream).content.decode() and Call.objects.get().state == "closed"
