"""Roles, verbs and scopes."""

import ast
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

from accounts.models import Membership
from accounts.roles import NEVER_SERVICE, TABLE, Role, Verb
from accounts.services import actor_for, require, verbs_of
from foundation import clock
from foundation.errors import NotPermitted
from orders.models import Order
from tests import factories

PLATFORM = Path(__file__).resolve().parents[2] / "platform"
DOORS = ("views", "consumers", "api", "pages", "selectors")


def test_the_table_names_every_role() -> None:
    assert set(TABLE) == set(Role)


def test_every_verb_is_given_to_somebody() -> None:
    assert set(Verb) == frozenset().union(*TABLE.values())


def test_a_service_account_never_reviews_signs_approves_breaks_glass_or_drains() -> None:
    assert not verbs_of(Role.SERVICE) & NEVER_SERVICE


@pytest.mark.parametrize("role", [Role.MODEL_STEWARD, Role.AUDITOR, Role.OPERATOR, Role.ADMINISTRATOR])
def test_those_who_do_not_work_on_orders_see_no_patients(role: Role) -> None:
    assert not TABLE[role] & {Verb.VIEW_ORDER, Verb.VIEW_UNRELEASED}


def test_a_requester_never_sees_unreleased_scores() -> None:
    assert Verb.VIEW_UNRELEASED not in TABLE[Role.REQUESTER] | TABLE[Role.ACCESSIONER] | TABLE[Role.SERVICE]


@pytest.mark.django_db
def test_a_role_counts_only_in_its_own_organisation() -> None:
    home, away = factories.make_laboratory(), factories.make_laboratory()
    actor = factories.make_actor(role=Role.ANALYST, organisation=home)
    assert actor.may(Verb.PLACE, home.pk)
    with pytest.raises(NotPermitted):
        require(actor, Verb.PLACE, away.pk)


@pytest.mark.django_db
def test_an_ended_membership_and_an_inactive_person_may_do_nothing() -> None:
    laboratory = factories.make_laboratory()
    leaver, locked = (factories.make_user(role=Role.ANALYST, organisation=laboratory) for _ in range(2))
    Membership.objects.filter(user=leaver).update(ended_at=clock.now())
    locked.is_active = False
    assert not actor_for(leaver).grants
    assert not actor_for(locked).grants


@pytest.mark.django_db
def test_an_order_is_seen_by_the_ordering_and_the_performing_side_and_nobody_else() -> None:
    laboratory, hospital, stranger = factories.make_laboratory(), factories.make_organisation(), factories.make_organisation()
    intake = factories.make_ready_intake(test_version=factories.make_test_version(laboratory=laboratory), organisation=hospital)
    order = factories.make_order(intake=intake)
    for organisation, role, seen in (
        (laboratory, Role.ANALYST, 1),
        (hospital, Role.REQUESTER, 1),
        (stranger, Role.REQUESTER, 0),
        (laboratory, Role.OPERATOR, 0),
    ):
        actor = factories.make_actor(role=role, organisation=organisation)
        assert Order.objects.for_actor(actor).filter(pk=order.pk).count() == seen


def test_every_clinical_table_belongs_to_an_organisation() -> None:
    """Rows without an organisation column are reached only through a parent that has one; each is named here."""
    through_parent = {"orders.intakerecord", "engine_queue.item"}
    of_the_house = {"orders.accessioncounter", "engine_queue.worker", "engine_queue.sweep"}
    for model in apps.get_models():
        if model._meta.app_label not in {"orders", "engine_queue", "reports", "audit", "storage", "outbox"}:
            continue
        columns = {f.attname for f in model._meta.get_fields() if isinstance(f, models.Field)}
        owned = [f for f in columns if f.endswith("organisation_id") or f == "performing_laboratory_id"]
        nullable = [
            f for f in owned if model._meta.get_field(f.removesuffix("_id") if hasattr(model, f.removesuffix("_id")) else f).null
        ]
        assert (owned and not nullable) or model._meta.label_lower in through_parent | of_the_house, model._meta.label


def test_doors_reach_scoped_rows_through_for_actor_only() -> None:
    """Views and consumers call selectors and services; selectors begin every scoped query with `for_actor`."""
    scoped = {m.__name__ for m in apps.get_models() if hasattr(m._default_manager, "for_actor")}
    found = set()
    for path in PLATFORM.rglob("*.py"):
        if not {path.stem, *path.parts} & set(DOORS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "objects"):
                continue
            owner = node.value.value
            if isinstance(owner, ast.Name) and owner.id in scoped and node.attr != "for_actor":
                found.add((path.relative_to(PLATFORM).as_posix(), owner.id))
    # What hangs on an order is read for an order that `order_for` has already handed out; queue lengths name nobody.
    assert found <= {("orders/selectors.py", "Event"), ("reports/selectors.py", "Result"), ("engine_queue/selectors.py", "Job")}
