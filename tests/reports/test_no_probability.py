"""Scores are scores: without a calibration table no probability and no category stands on any page, report, CSV or JSON."""

import io
import re

import pytest
from django.test import Client
from django.urls import reverse
from pypdf import PdfReader

from accounts.roles import Role
from registry.models import CalibrationTable
from reports import document, pdf, spreadsheet, statements
from reports.content import parse
from tests.factories import make_user
from tests.reports import cases

pytestmark = pytest.mark.django_db
WORDS = re.compile(r"probab|pathogen|benign|likely|categor|percent|risk|\bclass\b|PP3|BP4|\bVUS\b|confidence", re.IGNORECASE)


def said_otherwise(text: str) -> list[str]:
    """Such words in a text, the standing sentences that deny them left out."""
    squeezed = " ".join(text.split())
    for sentence in statements._STANDING:
        squeezed = squeezed.replace(" ".join(sentence.split()), "")
    return WORDS.findall(squeezed)


def visible(html: str) -> str:
    """The text of a page, without its tags."""
    return re.sub(r"<[^>]*>", " ", re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL))


def test_the_search_finds_what_it_looks_for() -> None:
    assert said_otherwise("93 percent: likely pathogenic, in the category PP3") != []
    assert said_otherwise(" ".join(statements._STANDING)) == []


@pytest.mark.parametrize("door", ["report-page", "order"])
def test_no_page_speaks_of_one(door: str) -> None:
    order = cases.scored_order()
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    html = client.get(reverse(door, args=[order.pk])).content.decode()
    assert "Δ Markov" in html and "no annotation" in html
    assert said_otherwise(visible(html)) == []


def test_neither_do_canonical_text_csv_and_pdf() -> None:
    version = cases.drafted(cases.scored_order())
    said = parse(version.content)
    table = spreadsheet.write(said.results, accession=said.order.accession, complete=True, protocol=said.methods.protocol)
    printed = PdfReader(io.BytesIO(pdf.compile_document(document.compose(version), timestamp=1_700_000_000)))
    assert not CalibrationTable.objects.exists()
    assert [said_otherwise(text) for text in (version.content, table)] == [[], []]
    assert said_otherwise(" ".join(page.extract_text() for page in printed.pages)) == []
