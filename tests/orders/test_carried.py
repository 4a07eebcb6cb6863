"""From an upload with genotypes to page, report and file: filter, zygosity and phase are kept, flagged and printed."""

import csv
import io

import pytest
from django.urls import reverse

from accounts.roles import Role
from orders.errors import InvalidOrder
from orders.models import Intake, IntakeRecord, Order
from registry.models import TestVersion
from tests.dashboard.desk import Desk, vcf
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import BASES, make_actor, make_order, make_ready_intake
from tests.intake.judging import COLUMNS
from tests.orders.test_checking import _checked
from tests.reports.cases import scored_order

pytestmark = pytest.mark.django_db

CALLS = ((100, "PASS", "0|1"), (200, "q10", "1/1"), (300, "PASS", "0/0"), (400, "PASS", "./."), (500, "PASS", "1"))


def called() -> bytes:
    rows = [
        [
            "contig1",
            position,
            ".",
            BASES[position - 1],
            "A" if BASES[position - 1] != "A" else "C",
            ".",
            filtered,
            ".",
            "GT",
            genotype,
        ]
        for position, filtered, genotype in CALLS
    ]
    lines = ["##fileformat=VCFv4.2", f"{COLUMNS}\tFORMAT\tS1", *("\t".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def test_what_a_sample_carries_is_stored_flagged_and_printed_with_its_filter() -> None:
    intake = _checked(called())
    assert {key: number for key, number in intake.counts.items() if number} == {"accepted": 3, "not_carried": 1, "no_call": 1}
    kept = IntakeRecord.objects.filter(intake=intake, outcome="accepted").order_by("line")
    assert list(kept.values_list("zygosity", "phased", "filter", "flags")) == [
        ("heterozygous", True, "PASS", []), ("homozygous", False, "q10", ["vcf.filter"]), ("haploid", False, "PASS", []),
    ]  # fmt: skip
    order = scored_order(intake=intake)
    client = logged_in(Role.ANALYST, order.performing_laboratory)
    report = read(client, "report-page", order.pk)
    for words in ("heterozygous (0|1, phased)", "homozygous (1/1)", "haploid (1)", "q10"):
        assert shown(words, report), words
    page = read(client, "order", order.pk)
    assert "1 not carried" in page and "1 no call" in page
    rows = list(csv.DictReader(io.StringIO(client.get(reverse("order-results.csv", args=[order.pk])).content.decode())))
    assert [(row["zygosity"], row["filter"]) for row in rows] == [
        ("heterozygous", "PASS"),
        ("homozygous", "q10"),
        ("haploid", "PASS"),
    ]


def test_the_verdict_previews_each_variant_as_read_and_as_normalised() -> None:
    at = next(n for n in range(600, 3000) if BASES[n] == BASES[n + 1] and BASES[n - 1] != BASES[n])  # 0-based: two of a kind
    desk = Desk(Ward())
    row = vcf(at + 2).splitlines()[-1].split("\t")
    row[1], row[3], row[4] = str(at + 1), BASES[at] * 2, BASES[at]  # one of the two is deleted
    intake = desk.check(pasted="\n".join([*vcf().splitlines(), "\t".join(row)]) + "\n")
    (record,) = intake.rows.all()
    assert (record.position, record.norm_position, record.norm_ref) == (at + 1, at, BASES[at - 1] + BASES[at])
    preview = desk.verdict().split("as read and normalised")[1].split("</table>")[0]
    assert f"{at + 1:,} {record.ref} → {record.alt}" in preview and f"{at:,} {record.norm_ref} → {record.norm_alt}" in preview


def test_the_chosen_sample_stands_beside_the_specimen_on_the_page_of_the_order() -> None:
    desk = Desk(Ward())
    desk.check(pasted=vcf(300, samples=("NA1", "NA2"), genotypes=("0/1", "0/0")))
    desk.check(sample="NA1")
    assert desk.send("place", sample="NA1", sample_confirmed="NA1").status_code == 302
    assert "column <b>NA1</b> for specimen <b>S-7</b>" in read(desk.client, "order", Order.objects.get().pk)


KEPT = ("ordering_organisation", "performing_laboratory", "test_version", "reference_digest", "file", "filename", "created_at")


def unready(*states: str) -> Intake:
    """Like a ready upload, but in another state."""
    intake = make_ready_intake()
    made = Intake.objects.create(**{name: getattr(intake, name) for name in KEPT}, counts={"accepted": 3})
    for state in states:
        Intake.objects.filter(pk=made.pk).update(state=state)
    return Intake.objects.get(pk=made.pk)


def refused(intake: Intake) -> str:
    with pytest.raises(InvalidOrder) as found:
        make_order(intake=intake, actor=make_actor(role=Role.ACCESSIONER, organisation=intake.ordering_organisation))
    assert not Order.objects.exists()
    return str(found.value.fields["intake"])


def test_only_a_ready_upload_whose_test_is_still_offered_is_ordered_on() -> None:
    for states in ((), ("checking",), ("checking", "refused"), ("withdrawn",)):
        assert "has not been checked and found usable" in refused(unready(*states)), states
    intake = make_ready_intake()
    TestVersion.objects.filter(pk=intake.test_version_id).update(offered=False)
    assert "has changed since the file was checked" in refused(intake)
