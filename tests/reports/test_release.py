"""The release rule: everything that keeps scores inside the laboratory."""

from dataclasses import replace

import pytest

from accounts.roles import Role
from reports import release
from reports.models import ReportVersion
from reports.release import Standing, Withheld
from tests.factories import make_actor, make_laboratory, make_organisation
from tests.forging import forging
from tests.reports import cases

SIGNED = Standing(
    kind="preliminary",
    state="released",
    order_state="awaiting_review",
    held=False,
    scored=True,
    intended_use="demonstration",
    validated=False,
    signatures_missing=0,
)


def test_a_signed_preliminary_report_of_a_scored_order_is_releasable():
    assert release.judge(SIGNED).ok


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "unsigned"}, Withheld.UNSIGNED),
        ({"signatures_missing": 1}, Withheld.SIGNATURE_MISSING),
        ({"scored": False}, Withheld.NOT_SCORED),
        ({"held": True}, Withheld.HELD),
        ({"order_state": "cancelled"}, Withheld.CANCELLED),
        ({"order_state": "rejected"}, Withheld.CANCELLED),
        ({"state": "discarded"}, Withheld.DISCARDED),
        ({"state": "superseded"}, Withheld.SUPERSEDED),
        ({"state": "entered_in_error"}, Withheld.ENTERED_IN_ERROR),
    ],
)
def test_each_objection_alone_withholds_the_report_and_is_named(change, reason):
    assert release.judge(replace(SIGNED, **change)).reasons == (reason,)


@pytest.mark.parametrize("kind", ["final", "corrected", "amended"])
@pytest.mark.parametrize(("use", "validated"), [("demonstration", True), ("research", True), ("clinical", False)])
def test_nothing_conclusive_leaves_without_a_validated_clinical_test(kind, use, validated):
    verdict = release.judge(replace(SIGNED, kind=kind, intended_use=use, validated=validated))
    assert verdict.reasons == (Withheld.NOT_VALIDATED,)


def test_a_validated_clinical_test_may_be_final():
    assert release.judge(replace(SIGNED, kind="final", intended_use="clinical", validated=True)).ok


def test_several_objections_are_all_named():
    verdict = release.judge(replace(SIGNED, held=True, signatures_missing=2))
    assert set(verdict.reasons) == {Withheld.HELD, Withheld.SIGNATURE_MISSING}


@pytest.mark.django_db
def test_a_draft_is_not_releasable_and_says_why():
    verdict = release.releasable(cases.drafted(cases.scored_order()))
    assert verdict.reasons == (Withheld.UNSIGNED, Withheld.SIGNATURE_MISSING)


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.ANALYST, Role.REVIEWER, Role.DIRECTOR])
def test_the_people_of_the_laboratory_who_work_on_results_see_them_unreleased(role):
    order = cases.scored_order()
    assert release.may_see_scores(make_actor(role=role, organisation=order.performing_laboratory), order)


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.REQUESTER, Role.ACCESSIONER, Role.OPERATOR, Role.ADMINISTRATOR, Role.AUDITOR, Role.SERVICE])
def test_nobody_else_does(role):
    order = cases.scored_order()
    assert not release.may_see_scores(make_actor(role=role, organisation=order.performing_laboratory), order)


@pytest.mark.django_db
def test_an_analyst_of_another_laboratory_is_a_stranger():
    assert not release.may_see_scores(make_actor(role=Role.ANALYST, organisation=make_laboratory()), cases.scored_order())


@pytest.mark.django_db
def test_a_version_forced_to_released_without_a_signature_opens_nothing():
    order = cases.ordered_by(make_organisation())
    draft = cases.drafted(order)
    with forging():
        ReportVersion.objects.create(**cases.copied(draft, kind="preliminary", number=9), state="released")
    requester = make_actor(role=Role.REQUESTER, organisation=order.ordering_organisation)
    assert not release.may_see_scores(requester, order)
    assert release.run_to_show(requester, order) is None
