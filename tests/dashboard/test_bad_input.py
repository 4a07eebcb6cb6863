"""What people send by mistake: each gets its verdict on the page, with the line, and leaves nothing half done behind."""

import gzip

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from engine_queue.models import Item, ItemSet
from orders.models import Order
from tests.dashboard.desk import HEAD, Desk, vcf
from tests.dashboard.people import Ward, shown
from tests.factories import BASES

pytestmark = pytest.mark.django_db
WRONG = "G" if BASES[299] != "G" else "T"
TWO = {"samples": ("mother", "child"), "genotypes": ("0/1", "0/1")}


@pytest.fixture
def desk():
    return Desk(Ward())


def moved(text, contig="contig1", position=300):
    """The one record of a VCF, on another contig or at another position."""
    return text.replace("contig1\t300\t", f"{contig}\t{position}\t")


COLUMNS, ROW = vcf(300).splitlines()[-2:]
LONG_ROW = ROW.replace("PASS\t.", "PASS\t" + "A" * 3_000_000)
BOMB = HEAD + "\n".join([COLUMNS, *[LONG_ROW] * 8]) + "\n"
REFUSED = {  # what was sent → what is said, and the line that is named
    "empty": (b"", "The file is empty.", None),
    "header only": (vcf().encode(), "a header but no variant", 3),
    "no header": (b"##fileformat=VCFv4.2\n", "header", 1),
    "not a VCF": (b"Dear colleague, please find enclosed", "neither VCF, FASTA nor FASTQ", None),
    "another kind": (b">seq\nACGT\n", "this test takes VCF", None),
    "50 MB of zeros": (bytes(50_000_000), "zero bytes only", None),
    "gzip bomb": (gzip.compress(BOMB.encode()), "unpacks to more than", None),
    "cut off gzip": (gzip.compress(vcf(*range(300, 900)).encode())[:-40], "", None),
    "past the end": (moved(vcf(300), position=4001).encode(), "4,001", 4),
    "unknown contig": (moved(vcf(300), contig="chrUnknown").encode(), "chrUnknown", 4),
    "wrong REF": (vcf(300, ref=WRONG, alt="A").encode(), f"REF is {WRONG}", 4),
    "symbolic allele": (vcf(300, alt="<DEL>").encode(), "<DEL>", 4),
}


@pytest.mark.parametrize(("content", "words", "line"), REFUSED.values(), ids=REFUSED)
def test_a_bad_file_gets_its_verdict_with_the_line_and_leaves_nothing_behind(desk, content, words, line):
    intake = desk.check(file=SimpleUploadedFile("isolate.vcf", content))
    page = desk.verdict()
    assert intake.state == "refused" and "This input is refused." in page and shown(words, page)
    assert ('class="counts"' in page) == any(intake.counts.values()), "figures stand there where something was counted"
    assert line is None or f"<b>Line {line}:</b>" in page or f'<td class="num">{line}</td>' in page
    assert (intake.item_set, Item.objects.count(), ItemSet.objects.count()) == (None, 0, 0)


@pytest.mark.parametrize(("content", "words", "line"), REFUSED.values(), ids=REFUSED)
def test_nothing_can_be_ordered_on_a_bad_file(desk, content, words, line):
    desk.check(file=SimpleUploadedFile("isolate.vcf", content))
    response = desk.send("place")
    assert response.status_code == 422 and "The order is not placed yet." in response.content.decode()
    assert Order.objects.count() == 0


def test_windows_line_ends_are_read_and_mentioned(desk):
    intake = desk.check(file=SimpleUploadedFile("isolate.vcf", vcf(300, 301).replace("\n", "\r\n").encode()))
    page = desk.verdict()
    assert (intake.state, intake.counts["accepted"]) == ("ready", 2)
    assert "Said about the file." in page and "CRLF" in page


def test_one_bad_record_among_good_ones_is_left_out_and_named_by_its_line(desk):
    intake = desk.check(pasted=vcf(*range(400, 460)) + moved(vcf(300, ref=WRONG, alt="A")).splitlines()[-1] + "\n")
    page = desk.verdict()
    assert (intake.state, intake.counts["accepted"], Item.objects.count()) == ("ready", 60, 60)
    assert "can be ordered, without 1 record (1 refused)." in page and '<td class="num">64</td>' in page


def test_a_sample_that_the_file_does_not_hold_is_refused_and_the_choice_stays_open(desk):
    desk.check(pasted=vcf(300, **TWO))
    page = desk.send("check", sample="uncle").content.decode()
    assert "The file has no sample named uncle." in page and Order.objects.count() == 0


def test_a_sample_without_any_of_the_variants_is_refused_in_words(desk):
    desk.check(pasted=vcf(300, samples=("mother", "child"), genotypes=("0/1", "0/0")))
    intake = desk.check(sample="child")
    assert intake.state == "refused" and "1 not carried" in desk.verdict().replace("</b>", " ")
    assert desk.send("place", sample="child", sample_confirmed="child").status_code == 422 and Order.objects.count() == 0
