"""Calibration tables: hashed, one for a model version, protocol and precision, and never changed."""

from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, transaction

from accounts.roles import Role
from registry import calibration
from registry.errors import RegistrationRefused
from registry.models import CalibrationTable, TestVersion
from registry.registering import UNATTENDED
from registry.services import offer_test
from tests.factories import by, make_test_version

pytestmark = pytest.mark.django_db
TEXT = "delta,probability\n-5,0.9\n0,0.4\n2.5,0.1\n"


def register(test: TestVersion, text: str = TEXT, source: str = "made for a test") -> CalibrationTable:
    deployment = test.deployment
    return calibration.register(
        model_version=deployment.model_version,
        protocol=test.protocol,
        precision=deployment.precision,
        text=text,
        source=source,
        actor=UNATTENDED,
    )


def wider(test: TestVersion, **changes: Any) -> TestVersion:
    """The next version of a test, changed."""
    kept = {name: getattr(test, name) for name in ("accepts", "reference", "deployment", "protocol", "sla_minutes")}
    definition = test.definition
    return offer_test(laboratory=definition.laboratory, code=definition.code, name=definition.name, **{**kept, **changes})


def curve(test: TestVersion, **changes: Any) -> calibration.Curve | None:
    made_of = {"model_version_id": test.deployment.model_version_id, "protocol": test.protocol, "precision": "fp32", **changes}
    return calibration.curve(test, **made_of)


def test_a_table_counts_for_the_test_version_that_names_it_and_for_scores_made_as_it_says() -> None:
    test = make_test_version()
    table = register(test)
    assert table.rows == [[-5.0, 0.9], [0.0, 0.4], [2.5, 0.1]]
    assert curve(test) is None  # it is registered, and this version does not name it
    named = wider(test, calibration=table)
    assert (named.number, named.definition) == (2, test.definition)
    found = curve(named)
    assert found is not None
    assert (found.sha256, found.source) == (table.sha256, "made for a test")
    for other in ({"precision": "bf16"}, {"protocol": {**test.protocol, "window": 128}}, {"model_version_id": uuid4()}):
        assert curve(named, **other) is None
    with pytest.raises(RegistrationRefused, match="another model version, protocol or precision"):
        wider(test, calibration=table, protocol={**test.protocol, "window": 128})


def test_it_is_read_linearly_between_its_rows_and_not_outside() -> None:
    test = make_test_version()
    read = curve(wider(test, calibration=register(test)))
    assert read is not None
    asked = (-5.0, -2.5, 0.0, 1.25, 2.5, -5.001, 2.501, None)
    assert [read.at(delta) for delta in asked] == [0.9, pytest.approx(0.65), 0.4, pytest.approx(0.25), 0.1, None, None, None]


def test_the_commands_keep_a_table_and_offer_a_test_that_shows_it(tmp_path: Path) -> None:
    test, path = make_test_version(), tmp_path / "table.csv"
    path.write_text(TEXT)
    code = test.definition.code
    out = StringIO()
    call_command("register_calibration", str(path), "--test", code, "--source", "made for a test", *by(), stdout=out)
    table = CalibrationTable.objects.get()
    assert f"--calibration {table.sha256[:12]}" in out.getvalue()
    offer = ("offer_test", code, "--name", "x", "--laboratory", test.definition.laboratory.code, "--window", "64",
             *by(Role.DIRECTOR, test.definition.laboratory),
             "--deployment", test.deployment_id, "--reference", test.reference.name)  # fmt: skip
    call_command(*offer, "--calibration", table.sha256[:12], stdout=out)
    assert TestVersion.objects.get(offered=True).calibration == table
    with pytest.raises(CommandError, match="no calibration table begins with zzz"):
        call_command(*offer, "--calibration", "zzz")


def test_the_same_table_again_is_the_same_row_and_another_is_refused() -> None:
    test = make_test_version()
    assert register(test) == register(test)
    with pytest.raises(RegistrationRefused, match="another calibration table"):
        register(test, TEXT.replace("0.4", "0.5"))


BAD = {
    "x,y\n1,2\n": "begins with the line",
    "delta,probability\n0,0.5\n": "2 to 100,000 rows",
    "delta,probability\n0,0.5\n0,0.4\n": "must ascend",
    "delta,probability\n0,0.5\n1,0.4\n2,0.6\n": "go one way",
    "delta,probability\n0,0.5\n1,1.4\n": "between 0 and 1",
    "delta,probability\n0,nan\n1,0.4\n": "finite",
    "delta,probability\n0,high\n1,0.4\n": "no number",
    "delta,probability\n0\n1,0.4\n": "two finite numbers",
}


@pytest.mark.parametrize("text", BAD, ids=[str(n) for n in range(len(BAD))])
def test_what_is_no_table_is_refused_in_words(text: str) -> None:
    with pytest.raises(RegistrationRefused, match=BAD[text]):
        register(make_test_version(), text)


def test_a_table_names_its_source_and_is_never_changed() -> None:
    test = make_test_version()
    with pytest.raises(RegistrationRefused, match="needs its source"):
        register(test, source=" ")
    register(test)
    for change in ({"rows": []}, {"source": "other"}):
        with pytest.raises((IntegrityError, ProgrammingError)), transaction.atomic():
            CalibrationTable.objects.update(**change)
