"""What the verdict says of work and time before anything is ordered."""

import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from engine_queue.models import Job, Run, Worker
from foundation import clock
from orders.estimates import SPREAD, estimate
from orders.models import Intake
from tests.dashboard.desk import Desk, vcf
from tests.dashboard.people import Ward, read
from tests.factories import make_order, make_test_version
from tests.forging import forge

pytestmark = pytest.mark.django_db
PER_VARIANT = 2 * (64 + 1)  # reference and alternate window of the tests' protocol, each after its `bos`


@pytest.fixture
def ward():
    return Ward(time_zone="Asia/Kolkata")


def measured(ward, *, items=10, seconds=10):
    """An order whose jobs took so long."""
    order, now = ward.order(variants=items), clock.now()
    run = Run.objects.get(order_id=order.pk)
    Run.objects.filter(pk=run.pk).update(items_cut=items, items_done=items, state="running")
    for state in ("running", "succeeded"):
        Job.objects.filter(run=run).update(state=state, started_at=now - timedelta(seconds=seconds), ended_at=now)
    return order


def of_sequences(ward):
    """The ward's laboratory scores sequences too."""
    ward.test = make_test_version(laboratory=ward.laboratory, accepts=["vcf", "fasta", "fastq"])
    return Desk(ward)


FASTA = b">one\n" + b"ACGT" * 2500 + b"\n>two\nACGTA\n"
FASTQ = b"@read\n" + b"A" * 10_005 + b"\n+\n" + b"I" * 10_005 + b"\n"


@pytest.mark.parametrize(("name", "content"), [("a.fasta", FASTA), ("a.fastq", FASTQ)])
def test_sequences_are_counted_by_their_bases_and_one_token_before_each(ward, name, content):
    intake = of_sequences(ward).check(file=SimpleUploadedFile(name, content))
    assert estimate(intake).tokens == 10_005 + intake.counts["accepted"]


def test_variants_are_counted_by_their_two_windows(ward):
    assert estimate(ward.intake(variants=7)).tokens == 7 * PER_VARIANT


def test_every_priority_has_its_range_from_what_was_measured_and_what_stands_before_it(ward):
    measured(ward, items=10, seconds=10)
    ward.order(variants=5, priority="urgent")
    found = {one.priority: one for one in estimate(ward.intake(variants=5)).expectations}
    assert {name: one.ahead for name, one in found.items()} == {"stat": 0, "asap": 0, "urgent": 5, "routine": 5}
    assert found["stat"].seconds_low == pytest.approx(5 / SPREAD, rel=0.01)
    assert found["routine"].seconds_high == pytest.approx(10 * SPREAD, rel=0.01)


def test_nothing_is_said_of_sequences_when_only_variants_were_measured(ward):
    measured(ward)
    intake = of_sequences(ward).check(file=SimpleUploadedFile("a.fasta", b">one\nACGT\n"))
    assert {one.seconds_low for one in estimate(intake).expectations} == {None}


def test_the_verdict_shows_the_finish_in_the_zone_of_the_site_for_all_four_priorities(ward):
    measured(ward, items=10, seconds=1000)
    worker(ward)
    desk = Desk(ward)
    desk.check(pasted=vcf(300, 301))
    table = desk.verdict().split('class="data forecasts"')[1].split("</table>")[0]
    assert [word in table for word in ("STAT", "ASAP", "URGENT", "ROUTINE", "Asia/Kolkata", "2 to 5 min")] == [True] * 6
    finishes = re.findall(r"(\d\d:\d\d:\d\d)</time> to <time[^>]*>(\d\d:\d\d:\d\d)</time>", table)
    local = clock.now().astimezone(ward.hospital.zone)
    assert len(finishes) == 4 and finishes[0][0][:2] in (f"{local:%H}", f"{local + timedelta(minutes=5):%H}")


def test_the_verdict_says_when_nothing_was_measured(ward):
    desk = Desk(ward)
    worker(ward)
    desk.check(pasted=vcf(300))
    assert desk.verdict().count("not measured yet") == 8  # in the table, and beside each priority


def test_without_a_worker_the_finish_cannot_be_foreseen_whatever_was_measured(ward):
    measured(ward)
    worker(ward, seconds=-1)
    desk = Desk(ward)
    desk.check(pasted=vcf(300))
    assert desk.verdict().count("cannot be foreseen: no engine worker serves this test now") == 8


def test_each_priority_says_beside_its_choice_when_it_would_be_scored_and_is_read_again(ward):
    measured(ward, items=10, seconds=1000)
    worker(ward)
    desk = Desk(ward)
    intake = desk.check(pasted=vcf(300, 301))
    choice = desk.verdict().split('id="finish-routine">')[1].split("</label>")[0]
    assert choice.startswith("scored <time") and "2 items," in desk.verdict()
    again = read(desk.client, "intake-finishes", intake.pk)
    assert again.count('hx-swap-oob="true"') == again.count("scored <time") == 4 and "<table" not in again


def test_the_order_page_says_when_nothing_was_measured(ward):
    assert "no estimate yet: this engine has scored nothing like it" in read(ward.analyst(), "order", ward.order().pk)


def test_an_intake_with_sequences_can_be_ordered_and_says_reads_or_sequences(ward):
    intake = of_sequences(ward).check(file=SimpleUploadedFile("a.fasta", b">one\nACGT\n>two\nACGTT\n"))
    order = make_order(intake=Intake.objects.get(pk=intake.pk))
    assert "2 sequences" in read(ward.analyst(), "worklist") and order.items_total == 2


def scoring(order, **changes):
    """An order that is being scored, by nobody in particular."""
    values = {"state": "in_analysis", "started_at": clock.now(), **changes}
    forge(order, **values)
    return order


def worker(ward, *, seconds=30):
    """An engine worker of the ward's deployment, whose lease ends in so many seconds."""
    now = clock.now()
    Worker.objects.create(
        name="engine-1", kind="engine", incarnation="x", host="h", pid=1, deployments=[ward.test.deployment_id],
        started_at=now, seen_at=now, lease_until=now + timedelta(seconds=seconds),
    )  # fmt: skip


@pytest.mark.parametrize("state", ["accepted", "in_analysis"])
def test_an_order_that_waits_while_stat_is_scored_says_so(ward, state):
    order = scoring(ward.order(), state=state)
    ward.order(priority="stat")
    assert "waiting for STAT work to finish" in read(ward.analyst(), "order", order.pk)


def test_an_order_of_which_a_part_runs_waits_for_nobody(ward):
    order = scoring(ward.order())
    ward.order(priority="stat")
    Job.objects.filter(run__order_id=order.pk).update(state="running")
    assert "waiting for STAT" not in read(ward.analyst(), "order", order.pk)


def test_when_every_lease_has_run_out_no_time_is_promised(ward):
    measured(ward)
    order = scoring(ward.order())
    worker(ward, seconds=-1)
    page = read(ward.analyst(), "order-live", order.pk)
    assert "the engine worker stopped; the work is taken up again by itself" in page and 'id="expected"' not in page


@pytest.mark.parametrize(("ago", "silent"), [(5, False), (40, True)])
def test_a_live_worker_that_gives_no_score_is_named_after_a_while(ward, ago, silent):
    measured(ward)
    order = scoring(ward.order(), started_at=clock.now() - timedelta(seconds=ago))
    worker(ward)
    page = read(ward.analyst(), "order-live", order.pk)
    named = re.search(r"no score for 4\d s; if the engine worker stopped", page) is not None
    assert named == silent and ('id="expected"' in page) != silent


def test_an_open_order_reads_itself_again_though_nobody_tells_it_to(ward):
    assert 'data-refresh="10"' in read(ward.analyst(), "order-live", scoring(ward.order()).pk)
    assert "data-refresh" not in read(ward.analyst(), "order-live", ward.scored().pk)


def test_an_estimate_beyond_what_its_priority_promises_warns_before_anything_is_placed(ward):
    measured(ward, items=10, seconds=1000)  # STAT promises one minute here, ASAP thirty
    worker(ward)
    desk = Desk(ward)
    desk.check(pasted=vcf(300, 301))
    rows = desk.verdict().split('class="data forecasts"')[1].split("</table>")[0].split("<tr>")
    warned = {
        word: "▲ beyond the 60 s of this priority" in row for row in rows for word in ("STAT", "ASAP") if f"</span> {word}<" in row
    }
    assert warned == {"STAT": True, "ASAP": False}


@pytest.mark.parametrize("alive", [True, False])
def test_a_check_that_has_not_begun_says_whether_anybody_is_there(ward, alive):
    desk = Desk(ward)
    page = desk.send("check", pasted=vcf(300)).content.decode()
    desk.typed["intake"] = re.search(r'name="intake" value="([^"]+)"', page).group(1)
    Intake.objects.update(created_at=clock.now() - timedelta(minutes=1))
    worker(ward, seconds=30 if alive else -1)
    Worker.objects.update(kind="platform")
    assert ("The platform worker is busy" in desk.verdict()) == alive == ("No platform worker is running" not in desk.verdict())
