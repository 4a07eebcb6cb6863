"""The CSV: every line, every bit, nothing that a spreadsheet would run."""

import csv
import io
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from reports import content, document, selectors, spreadsheet
from tests.factories import make_user
from tests.reports import cases

pytestmark = pytest.mark.django_db
PROTOCOL = {"kind": "grid-centred", "window": 512, "grid": 64, "strand": "average"}


@pytest.fixture
def line():
    return content.parse(cases.drafted(cases.scored_order(variants=1)).content).results[0]


def written(lines):
    return spreadsheet.write(lines, accession="A26-000001", complete=True, protocol=PROTOCOL)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_values_read_back_to_the_stored_doubles():
    order = cases.scored_order()
    said = content.parse(cases.drafted(order).content)
    stored = [r.delta for r in cases.run_of(order).results.order_by("item__ordinal")]
    assert [float(row["delta"]) for row in rows(written(said.results))] == stored


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r"])
def test_text_that_begins_like_a_formula_is_disarmed(line, start):
    (row,) = rows(written([replace(line, name=f"{start}cmd|'/C calc'!A0")]))
    assert row["name"].startswith("'")


def test_a_negative_number_stays_a_number(line):
    (row,) = rows(written([line]))
    assert float(row["delta"]) == line.delta < 0


def test_every_row_says_how_it_was_read(line):
    (row,) = rows(written([replace(line, bases=60, tokens=10)]))
    assert [row[column] for column in ("protocol", "window", "grid", "strand")] == ["grid-centred", "512", "64", "average"]
    assert (row["bases"], row["tokens"]) == ("60", "10")
    order = cases.scored_order(variants=1)
    export = selectors.results_export(cases.analyst(order), order)
    assert export.protocol == cases.run_of(order).protocol


def test_sequences_are_read_whole_whatever_the_test_does_with_variants():
    order = cases.sequence_order(b">a\nACGTACGT\n", name="a.fasta")
    export = selectors.results_export(cases.analyst(order), order)
    (row,) = rows(export.text())
    assert [row[column] for column in ("protocol", "window", "strand", "bases")] == ["whole-sequence", "", "forward", "8"]


def test_separators_and_quotes_in_a_name_stay_in_their_cell(line):
    (row,) = rows(written([replace(line, name='a,"b"\nc')]))
    assert row["name"] == 'a,"b"\nc'


def test_the_report_names_the_very_file_the_door_gives():
    order = cases.scored_order()
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    response = client.get(reverse("order-results.csv", args=[order.pk]))
    printed = " ".join(document.compose(cases.drafted(order)).results.notes)
    assert content.digest(response.content.decode()) in printed
    assert response["Content-Disposition"] == f'attachment; filename="{order.accession}-results.csv"'


def test_before_the_end_of_scoring_the_name_says_incomplete():
    order = cases.scored_order(finished=False)
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    response = client.get(reverse("order-results.csv", args=[order.pk]))
    assert "-results-incomplete.csv" in response["Content-Disposition"]


@pytest.mark.parametrize(("finished", "state"), [(True, "unsigned"), (False, "incomplete, unsigned")])
def test_every_row_says_whose_it_is_and_what_it_is_worth_and_names_nobody(finished, state):
    order = cases.scored_order(finished=finished)
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    text = client.get(reverse("order-results.csv", args=[order.pk])).content.decode()
    found = rows(text)
    assert found and {(row["accession"], row["report_state"]) for row in found} == {(order.accession, state)}
    assert order.patient.family_name not in text and order.stated_mrn not in text
