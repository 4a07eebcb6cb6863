"""Fifty laboratories and a hundred hospitals, their staff, what they offer, and a hundred thousand patients."""

from __future__ import annotations

from typing import Any

from benchmarks import copied
from benchmarks.copied import Connection
from benchmarks.laboratory import Laboratory

LABORATORIES, HOSPITALS, STAFF = 50, 100, 8  # people a laboratory
OF_HOSPITAL, OF_LARGE, OF_SMALL = 960, 14_400, 195  # patients of each hospital, of the large laboratory, of each other one
ROLES = "(ARRAY['analyst', 'accessioner', 'reviewer', 'director'])[k % 4 + 1]"
TABLES = ("orders_patient", "orders_patientidentifier")

# SQL for ids, over columns `lab`, `hospital`, `patient`; laboratory 0 is the large one
LABORATORY, HOSPITAL, PATIENT = "md5('lab' || lab)::uuid", "md5('hospital' || hospital)::uuid", "md5('patient' || patient)::uuid"
PERSON = "md5('person' || lab || '.' || person)::uuid"
REQUESTER = "md5('requester' || hospital)::uuid"
RECORD_NUMBER = "'77-' || lpad(patient::text, 6, '0')"
_OWN = HOSPITALS * OF_HOSPITAL  # number of the first patient of a laboratory
PATIENTS = _OWN + OF_LARGE + (LABORATORIES - 1) * OF_SMALL


def patient_of(own: str, lab: str, hospital: str, chance: str) -> str:
    """SQL for the number of a patient: of the laboratory where `own`, else of the hospital; `chance` lies below 1."""
    small = f"{_OWN + OF_LARGE} + ({lab} - 1) * {OF_SMALL} + floor({chance} * {OF_SMALL})"
    of_laboratory = f"CASE WHEN {lab} = 0 THEN {_OWN} + floor({chance} * {OF_LARGE}) ELSE {small} END"
    return f"(CASE WHEN {own} THEN {of_laboratory} ELSE {hospital} + {HOSPITALS} * floor({chance} * {OF_HOSPITAL}) END)::int"


def build(connection: Connection, laboratory: Laboratory, placed: Any) -> None:
    """All of them, as copies of what the placed order hangs on."""
    _organisations(connection, placed)
    _people(connection, laboratory)
    _patients(connection, placed)


def _organisations(connection: Connection, placed: Any) -> None:
    test = placed.test_version
    for kind, count, is_laboratory in (("lab", LABORATORIES, "true"), ("hospital", HOSPITALS, "false")):
        changed = {"id": f"md5('{kind}' || n)::uuid", "code": f"'{kind}-' || n", "name": f"initcap('{kind} ') || n"}
        source = f"generate_series(0, {count - 1}) AS n"
        copied.copy(connection, placed.performing_laboratory, source, {**changed, "is_laboratory": is_laboratory})
    source = f"generate_series(0, {LABORATORIES - 1}) AS n, generate_series(0, 2) AS k"
    own = {"id": "md5('test' || n || '.' || k)::uuid", "laboratory_id": "md5('lab' || n)::uuid"}
    copied.copy(connection, test.definition, source, own | {"code": "'test-' || k", "name": "'Isolate panel ' || k"})
    copied.copy(connection, test, source, {"id": "md5('version' || n || '.' || k)::uuid", "definition_id": own["id"]})


def _people(connection: Connection, laboratory: Laboratory) -> None:
    from accounts.models import Membership, User

    user = User.objects.get(pk=laboratory.actor.id)
    member = Membership.objects.filter(user=user).earliest("id")
    staff = f"generate_series(0, {LABORATORIES - 1}) AS n, generate_series(0, {STAFF - 1}) AS k"
    person = {"id": "md5('person' || n || '.' || k)::uuid", "email": "'p' || n || '.' || k || '@example.org'"}
    copied.copy(connection, user, staff, {**person, "name": "'Person ' || n || '.' || k"})
    identity = {"id": "nextval('accounts_membership_id_seq')", "user_id": person["id"]}
    copied.copy(connection, member, staff, {**identity, "organisation_id": "md5('lab' || n)::uuid", "role": ROLES})
    requesters = f"generate_series(0, {HOSPITALS - 1}) AS n"
    requester = {"id": "md5('requester' || n)::uuid", "email": "'r' || n || '@example.org'", "name": "'Requester ' || n"}
    copied.copy(connection, user, requesters, requester)
    identity["user_id"] = requester["id"]
    copied.copy(
        connection, member, requesters, {**identity, "organisation_id": "md5('hospital' || n)::uuid", "role": "'requester'"}
    )


def _patients(connection: Connection, placed: Any) -> None:
    from orders.models import PatientIdentifier

    lab = f"(CASE WHEN n < {_OWN + OF_LARGE} THEN 0 ELSE 1 + (n - {_OWN + OF_LARGE}) / {OF_SMALL} END)"
    organisation = f"CASE WHEN n < {_OWN} THEN md5('hospital' || n % {HOSPITALS})::uuid ELSE md5('lab' || {lab})::uuid END"
    source = f"(SELECT n, random() AS a, random() AS b FROM generate_series(0, {PATIENTS - 1}) AS n) AS drawn_names"  # noqa: S608 -- our own words
    changed = {
        "id": "md5('patient' || n)::uuid", "organisation_id": organisation,
        "family_name": _name("f", "a", 3000, 7), "given_name": _name("g", "b", 600, 5),
    }  # fmt: skip
    copied.copy(connection, placed.patient, source, changed)
    identifier = PatientIdentifier.objects.get(patient=placed.patient)
    number = {"id": "nextval('orders_patientidentifier_id_seq')", "patient_id": changed["id"], "organisation_id": organisation}
    source = f"generate_series(0, {PATIENTS - 1}) AS n"
    copied.copy(connection, identifier, source, {**number, "value": RECORD_NUMBER.replace("patient", "n")})


def _name(kind: str, chance: str, names: int, length: int) -> str:
    """One of so many names, some far more often than others."""
    letters = f"translate(md5('{kind}' || ({chance} ^ 2 * {names})::int), '0123456789', 'aeiounrstl')"
    return f"left(initcap({letters}), {length})"
