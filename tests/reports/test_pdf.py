"""The PDF: the document's words, on every page what must stand there, and the same bytes every time."""

import io
from dataclasses import replace

import pytest
from pypdf import PdfReader

from reports import document, pdf
from reports.printable import RANGES, printable
from reports.result_table import Table
from tests.reports import cases

pytestmark = pytest.mark.django_db
BREAKING = ('#eval("1+1")', '"; #panic("out") //', "$ x $ *bold* _it_ \\ `raw` <label> @ref", "<script>alert(1)</script>")


@pytest.fixture
def composed():
    return document.compose(cases.drafted(cases.scored_order(intake=cases.intake_with_exceptions())))


def pages(body):
    return [" ".join(page.extract_text().split()) for page in PdfReader(io.BytesIO(body)).pages]


def compiled(composed, **changes):
    return pdf.compile_document(replace(composed, **changes), timestamp=1_700_000_000)


def test_each_page_carries_banner_two_identifiers_version_and_its_number(composed):
    found = pages(compiled(composed, results=replace(composed.results, rows=composed.results.rows * 12)))
    assert len(found) > 2
    for number, text in enumerate(found, 1):
        assert "UNSIGNED DRAFT · DEMONSTRATION – NOT FOR CLINICAL USE" in text
        assert f"{composed.accession} · {composed.identity}" in text and "born 1970-01-31" in text
        assert "Report version 1" in text and f"Page {number} of {len(found)}" in text


def test_a_long_table_repeats_its_heading_on_every_page(composed):
    found = pages(compiled(composed, results=replace(composed.results, rows=composed.results.rows * 20)))
    holding = [text for text in found if "as submitted" in text]
    assert len(holding) > 2 and all("REF > ALT" in text for text in holding)


def test_every_word_of_the_document_is_in_the_pdf(composed):
    text = " ".join(pages(compiled(composed)))
    squeezed = text.replace(" ", "")
    facts = [fact.value for group in (*composed.groups, composed.methods) for fact in group.facts]
    words = [*composed.laboratory, composed.outcome, *facts, *composed.limitations, *composed.results.notes]
    assert [w for w in words if w.replace(" ", "") not in squeezed] == []


def test_the_same_version_gives_the_same_bytes():
    version = cases.drafted(cases.scored_order())
    assert pdf.render(version, document.compose(version)) == pdf.render(version, document.compose(version))


def test_it_is_tagged_archival_and_embeds_its_fonts(composed):
    reader = PdfReader(io.BytesIO(compiled(composed)))
    metadata = reader.xmp_metadata.stream.get_data()
    assert b"<pdfaid:part>2</pdfaid:part>" in metadata and b"<pdfuaid:part>1</pdfuaid:part>" in metadata
    fonts = reader.pages[0]["/Resources"]["/Font"]
    assert fonts and all(embedded(font.get_object()) for font in fonts.values())


def embedded(font):
    descriptor = font["/DescendantFonts"][0].get_object()["/FontDescriptor"]
    return any(key.startswith("/FontFile") for key in descriptor)


def test_words_that_look_like_source_are_printed_as_they_are():
    order = cases.scored_order(patient=cases.patient(family_name=BREAKING[0]), indication=" ".join(BREAKING))
    version = cases.drafted(order)
    text = "".join(pages(pdf.render(version, document.compose(version)))).replace(" ", "")
    assert [words for words in BREAKING if words.replace(" ", "") not in text] == []


def test_characters_without_a_glyph_are_printed_as_code_points(composed):
    words = " ".join(["中文", "한국", "العربية", "שלום", "👩", "\u202edesrever", "a\tb\nc", "\ue000", "ไทย"])
    text = "".join(pages(compiled(composed, outcome=words))).replace(" ", "")
    assert printable(words).replace(" ", "") in text


def test_every_character_said_to_be_printable_is(composed):
    everything = " ".join(printable(chr(code)) for low, high in RANGES for code in range(low, high + 1))
    assert compiled(composed, limitations=(everything,)).startswith(b"%PDF-1.7")


def test_a_report_without_results_or_picture_compiles(composed):
    empty = Table("Results: 0", composed.results.columns, (), ())
    assert compiled(composed, picture="", results=empty).startswith(b"%PDF-1.7")


def test_more_than_the_printed_rows_are_counted_and_found_in_the_csv_by_digest():
    order = cases.scored_order(variants=520)
    composed = document.compose(cases.drafted(order))
    assert len(composed.results.rows) == 500
    assert composed.results.caption == "Results: the 500 with the largest |Δ| of 520, on contig1"
    assert any(note.startswith("20 results are not printed") for note in composed.results.notes)
