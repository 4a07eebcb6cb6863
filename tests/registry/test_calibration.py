"""Calibration tables: hashed, one for a model version, protocol and precision, and never changed."""

import pytest
from django.db import IntegrityError, ProgrammingError, transaction

from registry import calibration
from registry.errors import RegistrationRefused
from registry.models import CalibrationTable, TestVersion
from registry.services import offer_test
from tests.factories import make_test_version

pytestmark = pytest.mark.django_db
TEXT = "delta,probability\n-5,0.9\n0,0.4\n2.5,0.1\n"


def register(test: TestVersion, text: str = TEXT, source: str = "made for a test") -> CalibrationTable:
    deployment = test.deployment
    return calibration.register(
        model_version=deployment.model_version, protocol=test.protocol, precision=deployment.precision, text=text, source=source
    )


def test_a_table_is_found_for_what_the_test_pins_and_for_nothing_else() -> None:
    test = make_test_version()
    assert calibration.table_for(test) is None
    table = register(test)
    assert calibration.table_for(test) == table
    assert table.rows == [[-5.0, 0.9], [0.0, 0.4], [2.5, 0.1]]
    wider = offer_test(
        laboratory=test.definition.laboratory, code="wider", name="Wider", accepts=["vcf"], reference=test.reference,
        deployment=test.deployment, protocol={**test.protocol, "window": 128}, sla_minutes=test.sla_minutes,
    )  # fmt: skip
    assert calibration.table_for(wider) is None
    test.deployment.precision = "bf16"
    assert calibration.table_for(test) is None


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
