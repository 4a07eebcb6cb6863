"""Runs on sequences: the same panel, page and PDF, with names and log-likelihoods instead of positions and differences."""

from dataclasses import replace

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from reports import content, document, result_table, selectors
from reports.wording import signed
from tests.factories import make_user
from tests.reports import cases
from tests.reports.test_pdf import pages

pytestmark = pytest.mark.django_db
FILES = {
    "genes.fasta": b">lexA first\n" + b"ACGT" * 30 + b"\n>recA <b>second</b>\n" + b"GGCA" * 20 + b"\n",
    "reads.fastq": b"@lexA\n" + b"ACGT" * 30 + b"\n+\n" + b"I" * 120 + b"\n@recA\n" + b"GGCA" * 20 + b"\n+\n" + b"I" * 80 + b"\n",
}


@pytest.fixture(params=FILES)
def order(request):
    return cases.sequence_order(FILES[request.param], name=request.param)


def opened(order, door):
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    return client.get(reverse(door, args=[order.pk]))


def likelihoods(order):
    return [signed(result.ll_alt) for result in cases.run_of(order).results.order_by("ll_alt")]


def test_the_panel_lists_names_lengths_and_log_likelihoods_and_draws_nothing(order):
    panel = selectors.results_panel(cases.analyst(order), order)
    html = render_to_string("reports/_results.html", {"panel": panel, "order": order})
    assert "Sequences · 2 of 2 done" in html and "<svg" not in html and "Zygosity" not in html and "Positions on" not in html
    assert [(row.name.split()[0], row.length) for row in sorted(panel.rows, key=lambda row: row.ordinal)] == [
        ("lexA", 120),
        ("recA", 80),
    ]
    assert [row.ll_alt for row in panel.rows] == sorted(row.ll_alt for row in panel.rows)
    assert all(f"<b>{words}</b>" in html for words in likelihoods(order)) and "<b>second" not in html


def test_the_report_page_shows_them_with_their_likelihood_per_base(order):
    response = opened(order, "report-page")
    html = response.content.decode()
    assert response.status_code == 200 and "Per base" in html and "lexA" in html and "<b>second" not in html
    assert all(words in html for words in likelihoods(order)) and "none (sequences are scored as they are)" in html


def test_the_mean_is_over_the_bases_that_count(order):
    said = content.parse(cases.drafted(order).content)
    (line,) = (line for line in said.results if line.name.startswith("lexA"))
    kept, trimmed, old, old_words = (
        result_table.results(replace(said, results=[replace(line, ll_alt=-60.0, **changed)])).rows[0][1:5]
        for changed in ({}, {"bases": 100, "tokens": 25}, {"bases": None}, {"bases": None, "tokens": 30})
    )
    assert kept == old == ("120", "120", "−60.000", "−0.5000")
    assert trimmed == ("120", "100", "−60.000", "−0.6000")
    assert old_words == ("120", "–", "−60.000", "–")  # nobody kept how many bases its tokens were


def test_the_pdf_holds_the_same_rows(order):
    text = " ".join(pages(opened(order, "report-pdf").content))
    assert "lexA" in text and "recA" in text and "Log-likelihood" in text
    assert [words for words in likelihoods(order) if words not in text] == []


def test_the_report_counts_sequences(order):
    assert document.compose(cases.drafted(order)).outcome == "2 sequences scored."
