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
    through_parent = {"orders.intakerecord", "engine_queue.item", "notices.receipt"}
    of_the_house = {"orders.accessioncounter", "engine_queue.worker", "engine_queue.sweep", "engine_queue.errand"}
    of_the_house |= {"audit.sealing", "oversight.check", "drift.hour"}  # no patient, and no event but by its number
    for model in apps.get_models():
        parts = {
            "orders", "engine_queue", "reports", "casefile", "audit", "storage", "outbox", "interop", "notices",
            "questions", "inspection", "oversight", "drift",
        }  # fmt: skip
        if model._meta.app_label not in parts:
            continue
        columns = {f.attname for f in model._meta.get_fields() if isinstance(f, models.Field)}
        owned = [f for f in columns if f.endswith(("organisation_id", "laboratory_id"))]
        nullable = [
            f for f in owned if model._meta.get_field(f.removesuffix("_id") if hasattr(model, f.removesuffix("_id")) else f).null
        ]
        assert (owned and not nullable) or model._meta.label_lower in through_parent | of_the_house, model._meta.label


# Modules that may reach clinical rows without `for_actor`, and why. Whoever adds one says which of the three it is.
_QUEUE = (
    "attention cancelling claim crew cutting deaths feeder keeper listener moving reporter settling steering supply sweeper tickets"
    " management/commands/resume_job"
)
PROCESSES = [
    *(f"engine_queue/{name}" for name in _QUEUE.split()),
    "config/bundled",
    "config/demo",
    "drift/rollup",
    "drift/following",
    "drift/management/commands/drift_replay",
    "orders/management/commands/steer_order",
    "orders/checking",
    "orders/checking_together",
    "orders/manifests/checking",
    "orders/manifests/claims",
    "orders/manifests/placing",
    "orders/manifests/working",
    "orders/progress",
    "orders/escalation",
    "orders/attention_notices",
    "orders/rejection_notices",
    "orders/risk",
    "orders/staging",
    "reports/critical_notices",
    "reports/delivery_notices",
    "inspection/claims",
    "inspection/event_rows",
    "inspection/making",
    "inspection/proof",
    "inspection/signatures",
    "inspection/sources",
    "questions/hints",
    "questions/progress",
]
# … act for nobody: workers, sweepers, the demo seed.
SERVICES = [
    "accounts/providers",
    "accounts/step_up",
    "drift/calls",
    "drift/references",
    "accounts/management/commands/edit_site",
    "accounts/sites",
    "accounts/programs",
    "audit/reads",
    "audit/services",
    "orders/assignment",
    "orders/emergency",
    "oversight/retention",
    "accounts/break_glass",
    "orders/conflicts",
    "casefile/attachments",
    "casefile/comments",
    "casefile/drafts",
    "engine_queue/beside",
    "interop/fhir/ordering",
    "inspection/asking",
    "inspection/services",
    "interop/idempotency",
    "orders/delays",
    "orders/demotions",
    "orders/escalation_rules",
    "orders/downtimes/late",
    "orders/downtimes/lines",
    "orders/downtimes/records",
    "orders/downtimes/stat_lists",
    "orders/holding",
    "orders/holds",
    "orders/identity",
    "orders/parties",
    "orders/reception",
    "orders/manifests/services",
    "orders/identity_decisions",
    "orders/merging",
    "orders/moving",
    "orders/patients",
    "orders/replacing",
    "orders/rerunning",
    "orders/services",
    "orders/specimen_corrections",
    "orders/uploads",
    "orders/urgency",
    "questions/asking",
    "questions/naming",
    "questions/services",
    "registry/validation",
    "reports/backgrounds",
    "reports/correcting",
    "reports/critical",
    "reports/delivering",
    "reports/recipients",
    "reports/interpreting",
    "reports/making",
    "reports/reviewing",
    "reports/services",
    "reports/signing",
    "reports/tracks",
    "reports/wrong_patient",
    "storage/services",
]
# … have required a verb, or take a row that `for_actor` handed out.
OF_A_ROW = [
    "orders/duplicates",
    "casefile/trail",
    "casefile/question_trail",
    "engine_queue/selectors",
    "orders/arrivals",
    "interop/fhir/finding",
    "orders/downtimes/selectors",
    "orders/estimates",
    "orders/offers",
    "orders/patient_selectors",
    "orders/promise",
    "orders/filters",
    "orders/manifests/finding",
    "orders/manifests/selectors",
    "orders/selectors",
    "orders/worklist",
    "questions/answers",
    "questions/selectors",
    "reports/delivered",
    "reports/release",
    "reports/selectors",
    "dashboard/engine_line",
]
# … read what hangs on a row handed out, or counts that name nobody.
NAMED = {f"{module}.py" for module in [*PROCESSES, *SERVICES, *OF_A_ROW]}


def _unscoped(path: Path, clinical: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute)) or node.attr == "for_actor":
            continue
        owner = node.value.value
        if node.value.attr in {"objects", "_default_manager"} and isinstance(owner, ast.Name) and owner.id in clinical:
            found.add(owner.id)
    return found


def test_clinical_rows_are_reached_through_for_actor_or_from_a_named_module() -> None:
    clinical = {m.__name__ for m in apps.get_models() if hasattr(m._default_manager, "for_actor")} | {"Item", "IntakeRecord"}
    found = {
        path.relative_to(PLATFORM).as_posix(): names
        for path in PLATFORM.rglob("*.py")
        if "migrations" not in path.parts and (names := _unscoped(path, clinical))
    }
    assert {path: names for path, names in found.items() if path not in NAMED} == {}


def test_the_search_for_unscoped_reads_sees_one(tmp_path: Path) -> None:
    bad = tmp_path / "view.py"
    bad.write_text("def view(request):\n    return Order.objects.filter(pk=1)\n")
    assert _unscoped(bad, {"Order"}) == {"Order"}


def test_selectors_of_orders_begin_with_for_actor() -> None:
    """The two that hand out orders and uploads to pages are the only entrances; their queries start scoped."""
    source = (PLATFORM / "orders" / "selectors.py").read_text()
    for name in ("Order", "Intake"):
        entrances = [line for line in source.splitlines() if f"{name}.objects." in line]
        assert entrances, name
        assert f"{name}.objects.for_actor(actor)" in source
