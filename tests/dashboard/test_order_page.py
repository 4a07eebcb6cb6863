"""The order page: one consistent read, results only for those who may see them, times with their zone, cancelling."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from engine_queue.models import Result, Run
from engine_queue.outcomes import Fact
from foundation import clock
from orders import progress
from orders.models import Intake, IntakeRecord, Order
from registry.models import TestVersion
from tests.dashboard.people import Ward, logged_in, read, shown
from tests.factories import make_order
from tests.forging import forge
from tests.reports.cases import patient

pytestmark = pytest.mark.django_db
SCORE = "−5.5"


@pytest.fixture
def ward():
    return Ward()


def facts(page):
    return {key: int(value) for key, value in re.findall(r'data-(version|done|total)="(\d+)"', page)}


def cancel(client, order, **said):
    data = {"reason": "ordered twice", "confirmed": "yes", "edits": order.edits, **said}
    return client.post(reverse("order-cancel", args=[order.pk]), {key: value for key, value in data.items() if value is not None})


def test_the_live_part_is_one_read_of_version_and_counts(ward):
    order = ward.order(variants=8)
    Order.objects.filter(pk=order.pk).update(state="in_analysis", items_done=3, version=7, started_at=clock.now())
    for name in ("order", "order-live"):
        assert facts(read(ward.analyst(), name, order.pk)) == {"version": 7, "done": 3, "total": 8}


def test_what_the_live_part_counts_are_the_results_committed_at_its_version(ward):
    order = ward.scored()
    run = Run.objects.get(order_id=order.pk)
    said = facts(read(ward.analyst(), "order-live", order.pk))
    assert said["done"] == Result.objects.filter(run=run, at_version__lte=said["version"]).count()


def test_a_page_that_has_seen_the_present_state_gets_the_counts_alone(ward):
    order = ward.order()
    seen = re.search(r'live\?shown=([^"]+)"', read(ward.analyst(), "order", order.pk)).group(1)
    page = read(ward.analyst(), "order-live", order.pk, shown=seen)
    assert "hx-swap-oob" not in page and 'id="order-live"' in page


def test_a_page_that_shows_an_older_state_gets_timeline_results_and_actions_too(ward):
    order = ward.scored()
    page = read(ward.analyst(), "order-live", order.pk, shown="in_analysis...routine..")
    for part in ("timeline", "order-results", "order-actions"):
        assert re.search(rf'id="{part}" hx-swap-oob="true"', page)


def test_the_header_identifies_the_patient_twice_over(ward):
    order = ward.order(patient=patient(mrn="88·1204"))
    head = read(ward.analyst(), "order", order.pk).split('class="sticky"')[1].split("<main")[0]
    for words in ("Muster, Maria", "MRN 88·1204", "31 Jan 1970", order.accession, "ROUTINE"):
        assert words in head


def test_the_laboratory_sees_results_with_picture_and_a_way_to_the_report(ward):
    order = ward.scored(delta=lambda n: -5.5)
    page = read(ward.analyst(), "order", order.pk)
    assert SCORE in page and "<svg" in page
    assert reverse("report-page", args=[order.pk]) in page and reverse("report-pdf", args=[order.pk]) in page


@pytest.mark.parametrize("name", ["order", "order-live"])
@pytest.mark.parametrize("query", [{}, {"partial": "yes"}, {"shown": "x"}, {"sort": "-delta"}])
def test_a_requester_sees_how_far_it_is_and_never_a_score(ward, name, query):
    order = ward.scored(delta=lambda n: -5.5)
    page = read(ward.requester(), name, order.pk, **query)
    assert "Awaiting review" in page and SCORE not in page and "<svg" not in page
    assert reverse("report-pdf", args=[order.pk]) not in page


def test_a_requester_reads_when_results_are_shown(ward):
    order = ward.scored()
    assert "Results are shown when the report is released" in read(ward.requester(), "order", order.pk)


def test_scores_are_shown_when_all_are_there_or_when_asked_for(ward):
    order = ward.scored(delta=lambda n: -5.5, finished=False)
    client = ward.analyst()
    assert SCORE not in read(client, "order", order.pk)
    assert SCORE in read(client, "order", order.pk, partial="yes")


def test_the_timeline_tells_what_happened_in_the_zone_of_the_site():
    ward = Ward(time_zone="Asia/Kolkata")
    order = ward.order()
    page = read(ward.requester(), "order", order.pk)
    placed = order.placed_at.astimezone(ward.hospital.zone)
    assert "Order received <time" in page and f"{placed:%H:%M:%S}</time>" in page
    assert f"{placed.day} {placed:%b %Y %H:%M:%S} IST" in page


def test_the_timeline_says_who_scored_and_what_comes_next(ward):
    order = ward.order()
    run = Run.objects.get(order_id=order.pk)
    progress.apply(Fact("started", run, worker="engine-7"))
    page = read(ward.analyst(), "order", order.pk)
    assert "worker engine-7" in page and re.search(r'class="next">Scoring', page)


def test_provenance_names_everything_that_decides_the_numbers(ward):
    order = ward.order()
    page = read(ward.analyst(), "order", order.pk)
    run = Run.objects.get(order_id=order.pk)
    for words in (
        str(run.model_version),
        run.precision,
        "centred, 64 bases, forward strand",
        run.reference_digest[:16],
        run.deployment_id,
    ):
        assert words in page


@pytest.mark.parametrize(
    ("use", "words"), [("demonstration", "DEMONSTRATION – NOT FOR CLINICAL USE"), ("research", "RESEARCH USE ONLY – NOT")]
)
def test_a_test_that_is_not_clinical_says_so_on_the_page(ward, use, words):
    ward.test = TestVersion.objects.create(**copied(ward.test), number=2, intended_use=use)
    assert words in read(ward.analyst(), "order", ward.order().pk)


def copied(version):
    """The columns of a test version that the next one keeps."""
    kept = ("definition", "accepts", "reference", "deployment", "protocol", "sla_minutes", "created_at")
    return {name: getattr(version, name) for name in kept}


def test_what_was_not_scored_is_listed_with_line_words_and_code(ward):
    intake = ward.intake()
    IntakeRecord.objects.create(
        intake=intake, line=47, alt_index=1, outcome="parked", code="vcf.alt-symbolic-deletion",
        reason="Symbolic deletion <DEL>: not scored in this version.", contig="contig1", position=9, ref="A", alt="<DEL>",
    )  # fmt: skip
    Intake.objects.filter(pk=intake.pk).update(counts={"accepted": 3, "parked": 1})
    page = read(ward.analyst(), "order", make_order(intake=Intake.objects.get(pk=intake.pk)).pk)
    assert "3 accepted, 1 parked" in page and ">47<" in page and "vcf.alt-symbolic-deletion" in page and "&lt;DEL&gt;" in page


def test_an_order_under_identity_check_says_so_and_what_comes_next(ward):
    ward.order(patient=patient())
    order = ward.order(patient=patient(family_name="Other"))
    page = read(ward.analyst(), "order", order.pk)
    assert "Identity check" in page and "until a person has decided who it is" in page
    assert "until a person settles" not in page and "Waiting to be accepted" not in page and "cancel-link" in page
    cancel(ward.requester(), order)
    assert "cancel this order" not in read(ward.analyst(), "order", order.pk).split('id="timeline"')[0]


@pytest.mark.parametrize(
    ("code", "way"), [("identity.mismatch", "decide who it is"), ("order.conflict", "decide which order it is")]
)
def test_a_parked_order_points_to_the_way_out_in_every_list(ward, code, way):
    Order.objects.filter(pk=ward.order().pk).update(attention=code)
    page = read(ward.analyst(), "worklist")
    assert "▲ needs a person" in page and f": {way}" in page


def test_names_file_names_and_sample_names_are_text_and_never_markup(ward):
    evil = "<script>alert(1)</script>"
    intake = ward.intake()
    Intake.objects.filter(pk=intake.pk).update(
        filename=evil, sample=evil, samples=[evil], problems=[{"code": evil, "line": 1, "reason": evil, "fatal": False}]
    )
    order = make_order(intake=Intake.objects.get(pk=intake.pk), indication=evil, sample_confirmed=evil)
    forge(order, stat_reason=evil)
    page = read(ward.analyst(), "order", order.pk)
    assert "<script>alert" not in page and page.count("&lt;script&gt;alert(1)") >= 4


def test_cancelling_asks_first_and_shows_whose_order_it_is(ward):
    order = ward.order(patient=patient(mrn="88·1204"))
    page = read(logged_in("director", ward.laboratory), "order-cancel", order.pk)
    assert "MRN 88·1204" in page and "required" in page
    order.refresh_from_db()
    assert order.state == "accepted"


def test_an_order_is_cancelled_with_its_reason(ward):
    order, client = ward.order(), ward.requester()
    assert cancel(client, order).status_code == 302
    order.refresh_from_db()
    page = read(client, "order", order.pk)
    assert order.state == "cancelled" and "ordered twice, by" in page and "is cancelled" in page


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"reason": "  "}, "Say why the order is cancelled."), ({"confirmed": None}, "Tick the box"),
        ({"edits": 0}, "The order has changed since you opened this page"),
    ],
)  # fmt: skip
def test_a_cancellation_without_reason_confirmation_or_fresh_eyes_is_refused(ward, said, words):
    order = ward.order()
    response = cancel(ward.requester(), order, **said)
    order.refresh_from_db()
    assert response.status_code == 409 and shown(words, response.content.decode()) and order.state == "accepted"


def test_who_may_not_cancel_is_refused_and_not_offered_it(ward):
    order, reviewer = ward.order(), logged_in("reviewer", ward.laboratory)
    assert "cancel-link" not in read(reviewer, "order", order.pk)
    assert cancel(reviewer, order).status_code == 409
    order.refresh_from_db()
    assert order.state == "accepted"


def test_a_cancelled_order_is_not_late(ward):
    order, client = ward.order(), ward.requester()
    forge(order, result_due=clock.now() - timedelta(hours=1))
    cancel(client, order)
    page = read(client, "order", order.pk)
    assert "over</span>" not in page and "This order was cancelled" in page


def test_a_scored_order_counts_down_to_nothing_and_leads_to_its_review(ward):
    order = ward.scored()
    forge(order, report_due=clock.now() - timedelta(hours=3), started_at=order.scored_at)
    for page in (read(ward.analyst(), "order", order.pk), read(ward.analyst(), "worklist")):
        assert 'role="timer"' not in page and "scored in 0.0 s" in page and "report was due" in page
    assert reverse("order-review", args=[order.pk]) in read(ward.analyst(), "order", order.pk)
    assert reverse("order-review", args=[order.pk]) not in read(ward.requester(), "order", order.pk)


def test_results_that_are_late_stay_red(ward):
    order = ward.order()
    forge(order, result_due=clock.now() - timedelta(minutes=3))
    page = read(ward.analyst(), "order", order.pk)
    assert 'class="late"' in page and "3 min over" in page


@pytest.mark.parametrize(("minutes", "shape"), [(50, "%H:%M:%S"), (70, "%H:%M")])
def test_a_due_time_within_the_hour_is_told_to_the_second(ward, minutes, shape):
    order, due = ward.order(), clock.now() + timedelta(minutes=minutes)
    forge(order, result_due=due)
    page = read(ward.analyst(), "order", order.pk)
    assert re.search(rf"results due <time[^>]*>(tomorrow )?{due.strftime(shape)}</time>", page)


def test_nothing_says_that_stat_stops_other_work(ward):
    page = read(ward.requester(), "order-new")
    assert "interrupt" not in page and "STAT starts before everything else" in page


@pytest.mark.parametrize(
    ("state", "words"), [("accepted", "taken out of the line"), ("in_analysis", "Work that was running has been stopped")]
)
def test_cancelling_tells_what_became_of_the_work(ward, state, words):
    order, client = ward.order(), ward.requester()
    Order.objects.filter(pk=order.pk).update(state=state)
    cancel(client, order)
    page = read(client, "order", order.pk)
    assert words in page and ("running has been stopped" in page) == (state == "in_analysis")


def test_cancelling_twice_says_that_it_is_done(ward):
    order, client = ward.order(), ward.requester()
    cancel(client, order)
    assert "This order is cancelled already." in cancel(client, order).content.decode()
