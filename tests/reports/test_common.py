"""Scores beside the common variants of the same region: a rank where they were scored in the same way, and nothing else."""

import hashlib
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from pypdf import PdfReader

from accounts.roles import Role
from engine_queue.models import Result, Run
from engine_queue.outcomes import Fact
from foundation import clock
from orders.models import Order
from registry import frequencies
from registry.errors import RegistrationRefused
from registry.models import Deployment, Frequencies, Reference, TestVersion
from registry.registering import UNATTENDED
from reports import backgrounds, common_picture, document, pdf, services, statements
from reports.content import parse
from reports.models import Background
from tests.factories import make_reference, make_test_version, make_user
from tests.reports import cases
from tests.reports.test_no_probability import said_otherwise

pytestmark = pytest.mark.django_db
DELTAS = (-3.0, -1.0, 0.5, 2.0)  # of common variants; one more fails
OURS = (-4.0, -1.0, 0.7, 9.0, None)
LOWER = (0, 1, 3, 4, None)  # of four


@pytest.fixture
def order() -> Order:
    return cases.scored_order(variants=5, delta=lambda n: OURS[n])


def registered(order: Order, **changes: object) -> Frequencies:
    """Five common variants, those of the order's own file."""
    run = cases.run_of(order)
    items = run.item_set.items.order_by("ordinal")
    rows = [[one.contig, one.position, one.ref, one.alt, 0.2] for one in items]
    columns = {
        "name": "common", "reference": run.item_set.reference, "digest": "d" * 64, "contig": rows[0][0], "start": 1,
        "end": 10_000, "minimum": 0.01, "rows": rows, "sha256": "e" * 64, "source": "a data set", "facts": {},
        "created_at": clock.now(), **changes,
    }  # fmt: skip
    return Frequencies.objects.create(**columns)


def scored(made: Background, fingerprint: str = "f" * 64) -> Background:
    """What the engine would commit: a Δ for each of its items but the last."""
    run = made.run
    items = {item.ordinal: item for item in run.item_set.items.all()}
    (job,) = run.jobs.all()
    found = [cases._result(run, job, items[n], delta) for n, delta in enumerate((*DELTAS, None))]
    for one in found:
        one.fingerprint = fingerprint
    Result.objects.bulk_create(found)
    Run.objects.filter(pk=run.pk).update(state="running")
    Run.objects.filter(pk=run.pk).update(state="scored", scored_at=clock.now(), items_done=run.items_total)
    backgrounds.hear(Fact("scored", Run.objects.get(pk=run.pk), worker="engine-1"))
    made.refresh_from_db()
    return made


@pytest.fixture
def made(order: Order) -> Background:
    return scored(backgrounds.ask(test=order.test_version, frequencies=registered(order), actor=UNATTENDED)[0])


def page(order: Order, name: str) -> str:
    client = Client()
    client.force_login(make_user(role=Role.REVIEWER, organisation=order.performing_laboratory))
    return client.get(reverse(name, args=[order.pk])).content.decode()


def test_the_canonical_text_has_each_rank_with_number_and_digest_of_the_background(order: Order, made: Background) -> None:
    said = json.loads(cases.drafted(order).content)
    assert tuple(line.get("common_lower") for line in said["results"]) == LOWER
    rows = [[*row[:4], delta] for row, delta in zip(made.frequencies.rows, DELTAS, strict=False)]
    assert made.sha256 == hashlib.sha256(json.dumps(rows).encode()).hexdigest() == said["common"]["sha256"]
    assert (said["common"]["n"], said["common"]["failed"], said["common"]["frequencies_digest"]) == (4, 1, "d" * 64)
    assert sum(said["common"]["counts"]) == 4


def test_page_review_and_pdf_show_rank_picture_and_the_picture_as_a_table(order: Order, made: Background) -> None:
    version = cases.drafted(order)
    composed = document.compose(version)
    told = PdfReader(io.BytesIO(pdf.compile_document(composed, timestamp=1_700_000_000)))
    printed = " ".join(" ".join(sheet.extract_text() for sheet in told.pages).split())
    for html in (page(order, "report-page"), page(order, "order-review")):
        assert composed.common_picture in html and "3 of 4" in html and "The picture as a table" in html
    assert "3 of 4" in printed and "Common variants by Δ" in printed and made.sha256 in printed.replace(" ", "")
    assert {row[-1] for row in composed.common_table.rows} <= {"0", "1"}
    assert [sum(int(row[place]) for row in composed.common_table.rows) for place in (2, 3)] == [4, 4]
    assert said_otherwise(" ".join((*composed.common, composed.common_picture_words, printed))) == []


def test_without_a_background_that_is_said_and_nothing_else_is_shown(order: Order) -> None:
    composed = document.compose(cases.drafted(order))
    assert composed.common == (statements.NOTHING_COMMON,) and composed.common_picture == ""
    html = page(order, "report-page")
    assert statements.NOTHING_COMMON in html and statements.COMMON not in html


@pytest.mark.parametrize("otherwise", ["fingerprint", "region", "protocol"])
def test_scores_that_were_made_otherwise_are_no_background(order: Order, otherwise: str) -> None:
    of = registered(order, start=9000) if otherwise == "region" else registered(order)
    asked, _ = backgrounds.ask(test=order.test_version, frequencies=of, actor=UNATTENDED)
    scored(asked, "a" * 64 if otherwise == "fingerprint" else "f" * 64)
    run = cases.run_of(order)
    if otherwise == "protocol":
        run.protocol = {**run.protocol, "window": 256}
    assert backgrounds.of(run) is None


def test_a_background_that_comes_later_makes_another_draft_and_changes_nothing_that_waits(order: Order) -> None:
    before = cases.drafted(order)
    scored(backgrounds.ask(test=order.test_version, frequencies=registered(order), actor=UNATTENDED)[0])
    after = services.draft(order=order, run=cases.run_of(order), actor=cases.analyst(order))
    before.refresh_from_db()
    assert (before.state, after.number, parse(after.content).common.n) == ("discarded", before.number + 1, 4)
    assert common_picture.compared(parse(before.content)) == []


def test_it_is_asked_for_once_below_every_order_and_never_changed(order: Order, made: Background) -> None:
    Deployment.objects.filter(pk=order.test_version.deployment_id).update(fingerprint="f" * 64, golden="g" * 64)
    test = TestVersion.objects.get(pk=order.test_version_id)
    assert backgrounds.ask(test=test, frequencies=made.frequencies, actor=UNATTENDED) == (made, False)
    assert (made.run.rank, made.run.order_id, made.run.kind) == (4, None, "background")
    change = ("UPDATE reports_background SET deltas = '[]'", "UPDATE registry_frequencies SET rows = '[]'")
    for sql in (*change, "DELETE FROM reports_background"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)


VCF = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def test_a_file_is_kept_by_its_digest_with_what_is_common_in_the_region(order: Order, tmp_path) -> None:
    reference = Reference.objects.get(pk=order.test_version.reference_id)
    contig = reference.contigs[0]["name"]
    items = list(cases.run_of(order).item_set.items.order_by("ordinal"))
    lines = [
        f"{contig}\t{one.position}\t.\t{one.ref}\t{one.alt}\t.\t.\t{info}"
        for one, info in zip(items, ("AF=0.02", "AF=0.3;X", "MAF=0.01", "AF=0.001", "DP=3"), strict=True)
    ]
    path = tmp_path / "some.vcf"
    path.write_text(VCF + "\n".join(lines) + "\n")
    made, new = frequencies.admit(path, name="some", reference=reference, minimum=0.01, said="a data set", region=contig)
    assert new and made.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [row[1] for row in made.rows] == [one.position for one in items[:3]]
    assert made.facts["left"] == {"rarer, or without a frequency": 2}
    wrong = {"A": "C", "C": "G", "G": "T", "T": "A"}[items[0].ref]
    path.write_text(VCF + f"{contig}\t{items[0].position}\t.\t{wrong}\t{items[0].ref}\t.\t.\tAF=0.5\n")
    with pytest.raises(RegistrationRefused, match="belong to other sequences"):
        frequencies.admit(path, name="wrong", reference=reference, minimum=0.01, said="a data set", region=contig)


def test_both_commands_take_a_model_steward_and_refuse_frequencies_of_another_reference(order: Order, tmp_path) -> None:
    test, items = order.test_version, list(cases.run_of(order).item_set.items.order_by("ordinal"))
    path = tmp_path / "common.vcf"
    path.write_text(VCF + "".join(f"{one.contig}\t{one.position}\t.\t{one.ref}\t{one.alt}\t.\t.\tAF=0.2\n" for one in items))
    steward, reviewer = (
        make_user(role=role, organisation=order.performing_laboratory).email for role in (Role.MODEL_STEWARD, Role.REVIEWER)
    )
    out = io.StringIO()
    named = {"reference": test.reference.name, "source": "a data set", "stdout": out}
    with pytest.raises(CommandError, match="may not register"):
        call_command("register_frequencies", str(path), by=reviewer, **named)
    call_command("register_frequencies", str(path), by=steward, **named)
    for _ in range(2):
        call_command("score_common", test.definition.code, frequencies="common.vcf", by=steward, stdout=out)
    assert "5 variants of contig1" in out.getvalue() and "known already: 0 of 5 scored" in out.getvalue()
    other = make_test_version(reference=make_reference("ACGT" * 100))
    with pytest.raises(backgrounds.OtherReference):
        backgrounds.ask(test=other, frequencies=Frequencies.objects.get(), actor=UNATTENDED)
