"""The order form without a script: check, read the verdict, place; nothing typed is lost, nothing is placed twice."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings
from django.urls import reverse

from orders import checking
from orders.models import Intake, Order
from tests.dashboard.desk import TYPED, Desk, vcf
from tests.dashboard.people import Ward, read, shown
from tests.factories import make_organisation, make_test_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk():
    return Desk(Ward(time_zone="Europe/Berlin"))


def test_a_pasted_vcf_is_checked_and_placed(desk):
    desk.check(pasted=vcf(300, 301, 302))
    response = desk.send("place")
    order = Order.objects.get()
    assert response["Location"] == reverse("order", args=[order.pk])
    assert (order.items_total, order.priority, order.patient.family_name) == (3, "routine", "Okafor")
    assert order.specimen.collected_at.isoformat() == "2026-01-15T07:30:00+00:00"


def test_an_uploaded_file_is_checked_and_placed(desk):
    intake = desk.check(file=SimpleUploadedFile("isolate.vcf", vcf(300).encode()))
    desk.send("place")
    assert intake.filename == "isolate.vcf" and Order.objects.get().intake_id == intake.pk


def test_placing_twice_gives_one_order(desk):
    desk.check(pasted=vcf(300))
    first, second = desk.send("place"), desk.send("place")
    assert first["Location"] == second["Location"] and Order.objects.count() == 1


def test_the_verdict_counts_and_explains_before_anything_is_ordered(desk):
    text = (
        vcf(300, 301)
        + vcf(302, ref="N").splitlines()[-1]
        + "\n"
        + vcf(303).splitlines()[-1].replace("\tA\t.", "\t<DEL>\t.").replace("\tC\t.", "\t<DEL>\t.")
        + "\n"
    )
    intake = desk.check(pasted=text)
    page = desk.verdict()
    assert intake.state == "ready" and "can be ordered, without 2 records (" in page
    for row in intake.rows.exclude(outcome="accepted"):
        assert f">{row.line}<" in page and row.code in page and shown(row.reason, page)
    assert "REF equals the reference in" in page and "tokens" in page and Order.objects.count() == 0


@override_settings(UPLOAD_LIMIT=1000)
def test_a_file_over_the_limit_is_refused_in_words_and_not_kept(desk):
    response = desk.send("check", file=SimpleUploadedFile("big.vcf", b"x" * 2000))
    assert "larger than" in response.content.decode() and Intake.objects.count() == 0


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000)
def test_a_pasted_text_over_the_limit_is_answered_in_words(desk):
    response = desk.send("check", pasted="x" * 2000)
    assert response.status_code == 400 and "upload that instead" in response.content.decode()


def test_every_missing_field_is_named_once_and_linked(desk):
    response = desk.send("place", **dict.fromkeys([*TYPED, "test"], ""))
    page = response.content.decode()
    assert response.status_code == 422
    for name in (
        "test",
        "mrn",
        "family_name",
        "given_name",
        "birth_date",
        "sex",
        "specimen_identifier",
        "specimen_type",
        "collected_at",
    ):
        assert page.count(f'href="#id_{name}"') == 1 and f'id="id_{name}_error"' in page
    assert 'href="#id_priority_0"' in page and 'href="#input"' in page


def test_nothing_typed_is_lost_by_a_mistake(desk):
    intake = desk.check(pasted=vcf(300))
    page = desk.send("place", birth_date="", family_name='O"Brien <b>').content.decode()
    for name, value in (("mrn", "88·1204"), ("family_name", "O&quot;Brien &lt;b&gt;"), ("collected_at", "2026-01-15T08:30")):
        assert re.search(rf'name="{name}" value="{re.escape(value)}"', page)
    assert f'value="{intake.pk}"' in page and "This input can be ordered." in page


def test_checking_keeps_what_was_typed_as_it_was_typed(desk):
    page = desk.send("check", pasted=vcf(300)).content.decode()
    assert 'value="1961-03-14"' in page and 'value="88·1204"' in page and '<option value="female" selected>' in page


def test_checking_judges_nothing_but_the_input(desk):
    page = desk.send("check", pasted=vcf(300), **dict.fromkeys(TYPED, "")).content.decode()
    assert "Missing" not in page and "Waiting to be checked" in page


def test_stat_needs_a_reason(desk):
    desk.check(pasted=vcf(300))
    response = desk.send("place", priority="stat")
    assert response.status_code == 422 and "Say why this order is STAT." in response.content.decode()
    desk.send("place", priority="stat", stat_reason="suspected sepsis")
    assert Order.objects.get().stat_reason == "suspected sepsis"


def test_a_reason_that_was_typed_before_the_priority_was_lowered_is_not_kept(desk):
    desk.check(pasted=vcf(300))
    desk.send("place", priority="urgent", stat_reason="suspected sepsis")
    assert Order.objects.get().stat_reason == ""


def test_an_unchecked_input_is_not_ordered_behind_the_persons_back(desk):
    response = desk.send("place", pasted=vcf(300))
    assert response.status_code == 422 and "Read the verdict" in response.content.decode() and Order.objects.count() == 0


def test_what_is_to_be_settled_names_a_refused_input_with_the_fields(desk):
    desk.check(pasted=vcf(300, ref="N"))
    page = desk.send("place", mrn="").content.decode()
    assert "2 points to settle" in page and '<a href="#input">This input is refused.' in page


def test_a_text_changed_after_its_check_is_not_taken_for_the_checked_one(desk):
    desk.check(pasted=vcf(300))
    response = desk.send("place", pasted=vcf(301))
    assert "Read the verdict" in response.content.decode() and Order.objects.count() == 0


def test_the_text_that_was_checked_may_stay_in_the_field(desk):
    text = vcf(300, 301)
    desk.check(pasted=text)
    assert desk.send("place", pasted=text.replace("\n", "\r\n")).status_code == 302


def test_of_several_samples_one_has_to_be_chosen_and_confirmed(desk):
    desk.check(pasted=vcf(300, 301, samples=("NA1", "NA2"), genotypes=("0/1", "0/0")))
    assert "The file holds 2 samples." in desk.verdict() and "This input is refused" not in desk.verdict()
    chosen = desk.check(sample="NA1")
    assert (chosen.state, chosen.sample, chosen.counts["accepted"]) == ("ready", "NA1", 2)
    response = desk.send("place")
    assert response.status_code == 422 and "Confirm the sample" in response.content.decode()
    desk.send("place", sample="NA1", sample_confirmed="NA1")
    assert Order.objects.get().intake.sample == "NA1"


def test_a_sample_whose_name_ends_with_a_blank_can_be_ordered_on(desk):
    desk.check(pasted=vcf(300, samples=("NA1 ", "NA2"), genotypes=("0/1", "0/0")))
    assert desk.check(sample="NA1 ").state == "ready"
    desk.send("place", sample="NA1 ", sample_confirmed="NA1 ")
    assert Order.objects.get().intake.sample == "NA1 "


def test_the_confirmation_of_another_sample_does_not_count(desk):
    desk.check(pasted=vcf(300, samples=("NA1", "NA2"), genotypes=("0/1", "0/1")))
    desk.check(sample="NA1")
    assert desk.send("place", sample="NA1", sample_confirmed="NA2").status_code == 422


def test_a_time_that_the_clocks_skipped_is_refused(desk):
    desk.check(pasted=vcf(300))
    page = desk.send("place", collected_at="2026-03-29T02:30").content.decode()
    assert "The clocks skipped this time in Europe/Berlin" in page


@pytest.mark.parametrize(("fold", "utc"), [("0", "2025-10-26T00:30:00+00:00"), ("1", "2025-10-26T01:30:00+00:00")])
def test_a_time_that_came_twice_is_asked_back(desk, fold, utc):
    desk.check(pasted=vcf(300))
    twice = {"collected_at": "2025-10-26T02:30"}
    assert "this time came twice" in desk.send("place", **twice).content.decode()
    desk.send("place", **twice, collected_fold=fold)
    assert Order.objects.get().specimen.collected_at.isoformat() == utc


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"collected_at": "2099-01-01T00:00"}, "lies in the future"), ({"birth_date": "2099-01-01"}, "lies in the future"),
        ({"birth_date": "31.1.1970"}, "Enter a valid date"), ({"sex": "x"}, "not one of the available choices"),
        ({"priority": "whenever"}, "not one of the available choices"), ({"mrn": "a\x07b"}, "control characters"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_beside_its_field(desk, change, words):
    desk.check(pasted=vcf(300))
    response = desk.send("place", **change)
    assert response.status_code == 422 and words in response.content.decode() and Order.objects.count() == 0


def test_an_upload_for_another_organisation_cannot_be_ordered_on(desk):
    stranger = Desk(Ward())
    desk.typed["intake"] = str(stranger.check(pasted=vcf(300)).pk)
    assert "Choose a file, or paste its text." in desk.send("place").content.decode()
    assert Order.objects.count() == 0


def test_somebody_elses_organisation_cannot_be_ordered_for(desk):
    other = make_organisation()
    page = desk.send("check", pasted=vcf(300), organisation=str(other.pk)).content.decode()
    assert "Choose the test and the ordering organisation first" in page and Intake.objects.count() == 0


def test_markup_in_a_file_and_its_name_is_shown_as_text(desk):
    evil = "<script>alert(1)</script>"
    text = vcf(300).replace("\tPASS\t", f"\t{evil}\t") + vcf(301).splitlines()[-1].replace("contig1", evil) + "\n"
    desk.check(file=SimpleUploadedFile("<img src=x onerror=alert(1)>.vcf", text.encode()))
    page = desk.verdict()
    assert "<script>alert" not in page and "<img src=x" not in page and shown(evil, page)


def test_a_verdict_that_is_not_there_yet_is_read_again(desk):
    page = desk.send("check", pasted=vcf(300)).content.decode()
    intake = Intake.objects.get()
    assert f'hx-get="{reverse("intake", args=[intake.pk])}" hx-trigger="load delay:500ms"' in page
    checking.check_intake(intake.pk)
    assert "hx-trigger" not in read(desk.client, "intake", intake.pk).split('id="sample-choice"')[0]


@pytest.mark.parametrize("intake", ["", "x", "00000000-0000-0000-0000-000000000000", "'; DROP TABLE"])
def test_an_address_with_a_wrong_upload_opens_an_empty_form(desk, intake):
    response = desk.client.get(reverse("order-new"), {"intake": intake})
    assert response.status_code == 200 and 'name="intake"' not in response.content.decode()


@pytest.mark.parametrize("do", ["check", "place"])
def test_a_file_and_a_text_together_are_refused_at_both_fields(desk, do):
    both = {"file": SimpleUploadedFile("isolate.vcf", vcf(300).encode()), "pasted": vcf(301)}
    page = desk.send(do, **both).content.decode()
    words = "Choose one: the file isolate.vcf or the pasted text."
    for anchor in ("id_file", "id_pasted"):
        assert f'id="{anchor}_error">{words}' in page and f'href="#{anchor}">{words}' in page
    assert Intake.objects.count() == 0


def test_the_script_is_told_of_a_file_and_a_text_together_too(desk):
    both = {"file": SimpleUploadedFile("isolate.vcf", vcf(300).encode()), "pasted": vcf(301)}
    response = desk.client.post(reverse("order-input"), {**desk.typed, **both})
    said = response.content.decode()
    assert response.status_code == 422
    assert said.count('hx-swap-oob="true">Choose one: the file isolate.vcf') == 2 and Intake.objects.count() == 0


def test_a_sample_that_was_not_chosen_is_asked_for_at_its_field(desk):
    desk.check(pasted=vcf(300, samples=("NA1", "NA2"), genotypes=("0/1", "0/0")))
    response = desk.send("place")
    page = response.content.decode()
    assert response.status_code == 422 and 'href="#id_sample">Choose the sample of the file that is this specimen.' in page
    assert 'id="id_sample_error"><li>Choose the sample' in page and "has not been checked" not in page
    desk.check(sample="NA1")
    assert "Choose the sample" not in desk.send("place").content.decode()


def test_what_is_said_of_accepted_records_is_counted_with_its_first_lines(desk):
    row = vcf(300).splitlines()[-1] + "\n"
    intake = desk.check(pasted=vcf(300, 301) + row * 7)
    page = desk.verdict()
    assert intake.counts["accepted"] == 9
    assert "The same variant is in the file more than once; each line is scored. 7 ×, lines 6, 7, 8, 9, 10 …" in page


def test_a_verdict_on_sequences_speaks_of_no_variants_and_no_reference():
    ward = Ward()
    ward.test = make_test_version(laboratory=ward.laboratory, accepts=["fasta"])
    desk = Desk(ward)
    desk.check(file=SimpleUploadedFile("a.fasta", b">one\nACGT\n"))
    page = desk.verdict()
    assert "First accepted sequences" in page and "against" not in page.split('id="verdict"')[1].split("</h3>")[0]
