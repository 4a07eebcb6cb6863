"""A symbolic event from an uploaded VCF: verdict, item, what the engine is asked, and its row in report, page and CSV."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from engine_queue import claim
from orders.models import Intake
from registry.calibration import Curve
from registry.models import TestVersion
from registry.services import offer_test
from reports.content import parse
from reports.gathering import _COLUMNS, _line
from tests.engine_queue.rows import take
from tests.factories import BASES, make_order, make_test_version, make_user
from tests.orders.test_checking import HEADER, _checked
from tests.reports import cases

pytestmark = pytest.mark.django_db


def uploaded(test: TestVersion) -> Intake:
    rows = [f"contig1\t{at}\t.\t{BASES[at - 1]}\t{alt}\t.\tPASS\t{info}" for at, alt, info in
            ((120, "<DEL>", "END=150"), (300, "<INV>", "SVLEN=900"), (400, "<DUP>", "."))]  # fmt: skip
    snv = f"contig1\t500\t.\t{BASES[499]}\t{next(b for b in 'ACGT' if b != BASES[499])}\t.\tPASS\t."
    return _checked("\n".join([HEADER, *rows, snv, ""]).encode(), test=test)


def test_it_reaches_the_engine_with_its_end() -> None:
    intake = uploaded(make_test_version())
    assert (intake.state, intake.counts["accepted"], intake.counts["parked"]) == ("ready", 3, 1)
    assert intake.rows.get(outcome="parked").code == "vcf.end-missing"
    make_order(intake=intake)
    claimed = take()
    assert claimed is not None
    asked = [(item.position, item.alt, item.end) for item in claim.load(claimed).items]
    assert asked[:2] == [(120, "<DEL>", 150), (300, "<INV>", 1200)]
    assert asked[2][2] == 0


def test_its_row_names_where_it_ends() -> None:
    order = cases.scored_order(intake=uploaded(make_test_version()))
    said = parse(cases.drafted(order).content)
    assert [line.end_position for line in said.results] == [150, 1200, 0]
    assert said.results[0].consequence == "no annotation" and said.results[0].markov_delta is None
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    rows = csv.DictReader(io.StringIO(client.get(reverse("order-results.csv", args=[order.pk])).content.decode()))
    assert [(row["position"], row["end_position"], row["alt"]) for row in rows][:2] == [
        ("120", "150", "<DEL>"),
        ("300", "1200", "<INV>"),
    ]
    for door in ("report-page", "order"):
        html = client.get(reverse(door, args=[order.pk])).content.decode()
        assert "120–150" in html and "300–1,200" in html and "&lt;DEL&gt;" in html


def test_no_probability_is_read_for_a_score_across_breakpoints() -> None:
    """Its Δ is on another scale than those that a calibration table is made from."""
    curve, row = Curve((-9.0, 9.0), (0.9, 0.1), "sha", "labels"), dict.fromkeys(_COLUMNS)
    row |= {"delta": 0.0, "flags": ["item.scored-whole"], "end_position": 10}
    across = row | {"flags": ["item.scored-breakpoints"]}
    assert [_line(tuple(values.values()), curve).probability for values in (row, across)] == [pytest.approx(0.5), None]


def test_a_protocol_that_scores_no_events_parks_them() -> None:
    centred = make_test_version()
    kept = {name: getattr(centred, name) for name in ("accepts", "reference", "deployment", "sla_minutes")}
    protocol = {"kind": "right-end", "window": 64, "strand": "forward"}
    test = offer_test(laboratory=centred.definition.laboratory, code="right", name="Right end", protocol=protocol, **kept)
    codes = uploaded(test).rows.filter(outcome="parked").order_by("line").values_list("code", flat=True)
    assert list(codes) == ["vcf.alt-symbolic-deletion", "vcf.alt-symbolic-inversion", "vcf.alt-symbolic-duplication"]
