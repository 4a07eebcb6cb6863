"""Who registers: an account that may, named on the command line and in the event; what a start brings, nobody's."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from accounts.models import Membership, Organisation, User
from accounts.roles import NEVER_SERVICE, TABLE, Role, Verb
from audit.models import Event
from config import bundled
from foundation import clock
from foundation.actor import NOBODY
from registry import services
from registry.models import CalibrationTable, Deployment, ModelVersion, Reference, TestVersion
from tests.factories import by, make_laboratory, make_reference, make_test_version, make_user
from tests.registry import genes

pytestmark = pytest.mark.django_db


@pytest.fixture
def laboratory() -> Organisation:
    return make_laboratory()


@pytest.fixture
def test(laboratory: Organisation) -> TestVersion:
    return make_test_version(laboratory=laboratory)


@pytest.fixture
def commands(
    test: TestVersion, tmp_path: Path, settings: Any, laboratory: Organisation, folder: Path, models_dir: Path
) -> dict[str, list[str]]:
    """A whole line of each command, but for who decides; the test is made of what lies below the usual MODELS_DIR."""
    settings.DATA_DIR = tmp_path / "data"
    (tmp_path / "one.fa").write_text(f">one\n{genes.BASES}\n")
    (tmp_path / "genes.gff3").write_text(genes.bacterial())
    (tmp_path / "table.csv").write_text("delta,probability\n0,0\n1,1\n")
    services.register_reference(
        name="known", description="", path=str(tmp_path / "one.fa"), digest="0" * 64,
        contigs=[{"name": "one", "length": len(genes.BASES), "aliases": []}],
    )  # fmt: skip
    (tmp_path / "other.fa").write_text(f">other\n{genes.BASES}\n")
    offer = ["another", "--name", "Another", "--laboratory", laboratory.code, "--deployment", test.deployment_id]
    return {
        "register_reference": [str(tmp_path / "other.fa"), "--name", "other"],
        "register_annotation": [str(tmp_path / "genes.gff3"), "--reference", "known", "--genetic-code", "11"],
        "register_model": [str(folder), "--deployment", "tiny-fp32", "--threads", "1"],
        "register_calibration": [str(tmp_path / "table.csv"), "--test", test.definition.code, "--source", "a test"],
        "offer_test": [*offer, "--reference", test.reference.name, "--window", "64"],
    }


ROLES = {
    "register_reference": Role.MODEL_STEWARD,
    "register_annotation": Role.MODEL_STEWARD,
    "register_model": Role.MODEL_STEWARD,
    "register_calibration": Role.MODEL_STEWARD,
    "offer_test": Role.DIRECTOR,
}
ACTIONS = {
    "register_reference": ["reference.registered"],
    "register_annotation": ["annotation.registered"],
    "register_model": ["model.registered", "deployment.registered"],
    "register_calibration": ["calibration.registered"],
    "offer_test": ["test.offered"],
}


def run(command: str, *options: str) -> None:
    call_command(command, *options, stdout=StringIO(), stderr=StringIO())


def rows() -> int:
    return sum(kind.objects.count() for kind in (Reference, ModelVersion, Deployment, CalibrationTable, TestVersion, Event))


@pytest.mark.parametrize("command", list(ROLES))
def test_what_a_person_registers_is_an_event_of_that_person_and_once(
    command: str, commands: dict[str, list[str]], laboratory: Organisation
) -> None:
    person = make_user(role=ROLES[command], organisation=laboratory)
    before = set(Event.objects.values_list("pk", flat=True))
    for _ in range(2):  # the second time nothing is made
        run(command, *commands[command], "--by", person.email.upper())
    made = Event.objects.exclude(pk__in=before).order_by("pk")
    assert [(event.action, event.actor_id, event.actor_name, event.organisation_id) for event in made] == [
        (action, person.pk, person.name, laboratory.pk) for action in ACTIONS[command]
    ]


@pytest.mark.parametrize("command", list(ROLES))
def test_who_may_not_is_told_why_and_nothing_is_kept(
    command: str, commands: dict[str, list[str]], laboratory: Organisation
) -> None:
    """Nobody, a closed account, one whose role has ended, another role, the right role in a hospital."""
    role = ROLES[command]
    closed, left, other = (make_user(role=each, organisation=laboratory) for each in (role, role, Role.OPERATOR))
    User.objects.filter(pk=closed.pk).update(is_active=False)
    Membership.objects.filter(user=left).update(ended_at=clock.now())
    before = rows()
    for email, said in (
        ("nobody@example.org", "there is no account nobody@example.org"),
        ("", r"there is no account \(empty\)"),
        (closed.email, f"the account {closed.email} is closed"),
        (left.email, f"it takes the role {role.label}"),
        (other.email, f"{other.name} may not .*: it takes the role {role.label}"),
    ):
        with pytest.raises(CommandError, match=said) as error:
            run(command, *commands[command], "--by", email)
        assert error.value.returncode == 2
    assert rows() == before


@pytest.mark.parametrize("command", list(ROLES))
def test_without_a_name_nothing_is_registered(command: str, commands: dict[str, list[str]]) -> None:
    before = rows()
    with pytest.raises(CommandError, match="the following arguments are required: --by"):
        run(command, *commands[command])
    assert rows() == before


def test_a_director_decides_for_the_own_laboratory_alone(commands: dict[str, list[str]], laboratory: Organisation) -> None:
    with pytest.raises(CommandError, match=f"it takes the role Laboratory director in {laboratory.name}"):
        run("offer_test", *commands["offer_test"], *by(Role.DIRECTOR, make_laboratory()))


def test_an_event_goes_with_the_row_that_it_tells_of(laboratory: Organisation) -> None:
    before = rows()

    class Interrupted(Exception):
        pass

    with pytest.raises(Interrupted), transaction.atomic():
        make_reference()
        assert rows() == before + 2
        raise Interrupted
    assert rows() == before


@pytest.mark.parametrize("laboratories", [0, 2])
def test_what_a_start_brings_is_an_event_of_unattended_start(laboratories: int) -> None:
    """Before there is a laboratory it belongs to none."""
    concerned = {make_laboratory().pk for _ in range(laboratories)} or {NOBODY}
    model = bundled.bundled_deployment().model_version
    for _ in range(2):
        services.register_deployment(name="second", model_version=model, precision="fp32", pin={"threads": 1})
    made = Event.objects.filter(action="deployment.registered", object_id="second")
    assert {event.organisation_id for event in made} == concerned
    assert len(made) == len(concerned)
    assert {(event.actor_id, event.actor_name) for event in made} == {(None, "unattended start")}


def test_the_bundled_model_was_registered_by_no_person() -> None:
    model = bundled.bundled_deployment().model_version
    made = Event.objects.filter(action="model.registered", object_id=str(model.pk))
    assert {(event.actor_id, event.actor_name) for event in made} == {(None, "unattended start")}


def test_no_program_registers_or_offers(laboratory: Organisation) -> None:
    assert {Verb.REGISTER, Verb.OFFER_TEST} <= NEVER_SERVICE
    assert not TABLE[Role.SERVICE] & {Verb.REGISTER, Verb.OFFER_TEST}


@pytest.mark.parametrize("verb", [Verb.REGISTER, Verb.OFFER_TEST])
def test_there_is_one_role_that_decides(verb: Verb) -> None:
    assert [role for role in Role if verb in TABLE[role]] == [Role.MODEL_STEWARD if verb == Verb.REGISTER else Role.DIRECTOR]
