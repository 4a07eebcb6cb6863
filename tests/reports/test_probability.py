"""With a calibration table at the test version, its probability stands beside every score, and its digest beside that."""

import csv
import io
import json

import pytest
from django.test import Client
from django.urls import reverse
from pypdf import PdfReader

from accounts.roles import Role
from orders.models import Order
from registry import calibration
from registry.models import CalibrationTable
from registry.registering import UNATTENDED
from registry.services import offer_test
from reports import document, pdf
from reports.content import digest
from reports.gathering import curve_of
from tests.factories import make_ready_intake, make_test_version, make_user
from tests.reports import cases

pytestmark = pytest.mark.django_db
DELTAS = (-4.0, -2.0, -1.0, None, 9.0)  # two rows, between two, not scored, outside
EXPECTED = (0.9, 0.5, 0.3, None, None)


@pytest.fixture
def order() -> Order:
    plain = make_test_version()
    table = calibration.register(
        model_version=plain.deployment.model_version, protocol=plain.protocol, precision="fp32",
        text="delta,probability\n-4,0.9\n-2,0.5\n0,0.1\n", source="three hundred labelled variants", actor=UNATTENDED,
    )  # fmt: skip
    kept = {name: getattr(plain, name) for name in ("accepts", "reference", "deployment", "protocol", "sla_minutes", "limitations")}
    test = offer_test(laboratory=plain.definition.laboratory, code="calibrated", name="Panel", calibration=table, **kept)
    return cases.scored_order(intake=make_ready_intake(test_version=test, variants=5), variants=5, delta=lambda n: DELTAS[n])


def door(order: Order, name: str) -> str:
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    return client.get(reverse(name, args=[order.pk])).content.decode()


def test_the_canonical_text_holds_it_and_names_the_table(order: Order) -> None:
    said = json.loads(cases.drafted(order).content)
    assert [line.get("probability") for line in said["results"]] == [pytest.approx(p) if p else None for p in EXPECTED]
    assert said["methods"]["calibration_sha256"] == CalibrationTable.objects.get().sha256
    assert said["methods"]["calibration_source"] == "three hundred labelled variants"


def test_the_csv_has_the_column_and_the_digest_in_each_row_and_the_report_names_that_very_file(order: Order) -> None:
    text = door(order, "order-results.csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["probability"] for row in rows] == ["0.9", "0.5", "0.3", "", ""]
    assert {row["calibration_sha256"] for row in rows} == {CalibrationTable.objects.get().sha256}
    assert f"CSV with SHA-256 {digest(text)}" in door(order, "report-page")


@pytest.mark.parametrize("name", ["report-page", "order"])
def test_the_pages_show_the_column_and_the_digest(order: Order, name: str) -> None:
    html = door(order, name)
    assert 'data-label="Probability"' in html
    assert all(f">{p:.3f}<" in html for p in EXPECTED if p)
    assert CalibrationTable.objects.get().sha256 in html


def test_the_pdf_says_the_same(order: Order) -> None:
    composed = document.compose(cases.drafted(order))
    printed = PdfReader(io.BytesIO(pdf.compile_document(composed, timestamp=1_700_000_000)))
    text = " ".join(" ".join(page.extract_text() for page in printed.pages).split())
    for words in ("Probability", "0.900", "0.500", "three hundred labelled variants", "It is not a probability itself"):
        assert words in text


def test_scores_made_by_another_model_version_have_none(order: Order) -> None:
    """A run may be scored anew by something else than its test version names."""
    run = cases.run_of(order)
    run.precision = "bf16"
    assert curve_of(cases.run_of(order)) is not None
    assert curve_of(run) is None


def test_a_sequence_has_none() -> None:
    order = cases.sequence_order(b">one\nACGTACGTAC\n", name="one.fasta")
    assert "robability" not in door(order, "order-results.csv")
