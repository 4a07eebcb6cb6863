"""A laboratory whose people review, sign and correct; and a clinical test of it that is validated."""

from typing import Any

from accounts import step_up
from accounts.models import Organisation, StepUp, User
from accounts.roles import Role
from accounts.services import actor_for
from foundation.actor import Actor
from orders.models import Order
from registry import validation
from registry.models import Deployment, TestVersion, ValidationRecord
from registry.priority import Priority
from reports import correcting, interpreting, reviewing, services, signing
from reports.models import Meaning, ReportVersion
from tests.factories import PASSWORD, make_organisation, make_ready_intake, make_test_version, make_user
from tests.reports import cases

TWO = dict.fromkeys(Priority.values, 2)


class Laboratory:
    """Its people by role, each made when first needed."""

    def __init__(self, organisation: Organisation) -> None:
        self.organisation = organisation
        self._people: dict[str, User] = {}

    def user(self, role: Role | str, which: str = "") -> User:
        key = f"{role}{which}"
        if key not in self._people:
            self._people[key] = make_user(role=role, organisation=self.organisation, name=f"{Role(role).label} {which}".strip())
        return self._people[key]

    def actor(self, role: Role | str, which: str = "") -> Actor:
        return actor_for(self.user(role, which))


def laboratory_of(order: Order) -> Laboratory:
    return Laboratory(order.performing_laboratory)


def scored(*, signers: int = 1, use: str = "demonstration", **changes: Any) -> Order:
    """A scored order of a hospital, on a test version whose reports so many people sign."""
    test = make_test_version(signatures=dict.fromkeys(Priority.values, signers), intended_use=use)
    intake = make_ready_intake(test_version=test, organisation=make_organisation(), variants=changes.pop("variants", 4))
    return cases.scored_order(intake=intake, **changes)


def validate(test: TestVersion, lab: Laboratory) -> ValidationRecord:
    """A standing validation of what `cases` lets results come from."""
    Deployment.objects.filter(pk=test.deployment_id, fingerprint="").update(fingerprint="f" * 64, golden="g" * 64)
    fresh = TestVersion.objects.get(pk=test.pk)
    record = validation.propose(actor=lab.actor(Role.MODEL_STEWARD), test_version=fresh, statement="Isolates; 200 known variants.")
    director = lab.actor(Role.DIRECTOR, "who validates")
    proof = step_up.prove(actor=director, about=validation.about(record), given=PASSWORD)
    validation.approve(actor=director, record=record, proof=proof)
    return record


def seen(order: Order, lab: Laboratory) -> ReportVersion:
    """The draft as the review page shows it."""
    return services.draft(order=order, run=cases.newest_run(order), actor=lab.actor(Role.REVIEWER))


def interpret(order: Order, lab: Laboratory, text: str = "Two changes deserve a second look.", role: Role = Role.ANALYST) -> None:
    last = interpreting.last(order)
    interpreting.write(order=order, actor=lab.actor(role), text=text, expected=last.number if last else 0)


def approved(order: Order, lab: Laboratory) -> ReportVersion:
    return reviewing.approve(order=order, actor=lab.actor(Role.REVIEWER), seen=seen(order, lab).pk)


def proof(version: ReportVersion, actor: Actor) -> StepUp:
    return step_up.prove(actor=actor, about=signing.about(version), given=PASSWORD)


def sign(version: ReportVersion, actor: Actor, meaning: Meaning | None = None) -> ReportVersion:
    wanted = meaning or signing.open_to(actor, version)
    assert wanted is not None, "this person may not sign"
    return signing.sign(version=version, meaning=wanted, actor=actor, proof=proof(version, actor))


def issued(order: Order, lab: Laboratory) -> ReportVersion:
    """Approved and signed by as many people as it takes."""
    return signed(approved(order, lab), lab)


def signed(version: ReportVersion, lab: Laboratory) -> ReportVersion:
    for role in (Role.REVIEWER, Role.DIRECTOR):
        actor = lab.actor(role)
        if version.state == "draft" and signing.open_to(actor, version):
            version = sign(version, actor)
    return ReportVersion.objects.select_related("order", "run__test_version").get(pk=version.pk)


def corrected(order: Order, lab: Laboratory, text: str = "Corrected words.", kind: str = "corrected") -> ReportVersion:
    """A correction that waits for its signatures."""
    fresh, last = cases.read(order), interpreting.last(order)
    standing = correcting.correctable(fresh)
    assert standing is not None
    return correcting.correct(
        order=fresh, actor=lab.actor(Role.REVIEWER), kind=kind, reason="A name was wrong.", text=text,
        edit=last.number if last else 0, standing=standing.pk,
    )  # fmt: skip
