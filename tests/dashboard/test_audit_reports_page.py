"""Audit reports on pages: asked for, followed, read and taken; each of it leaves an event, and strangers get nothing."""

import pytest
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from inspection import making
from inspection.models import AuditReport
from storage import services as storage
from tests.dashboard.people import Ward, logged_in, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward() -> Ward:
    return Ward(time_zone="Europe/Berlin")


def test_an_auditor_asks_follows_reads_and_takes_it_and_all_of_that_is_written_down(ward):
    order, client = ward.order(), logged_in(Role.AUDITOR, ward.laboratory)
    assert "No report was asked for yet" in read(client, "audit-reports")
    form = reverse("audit-report-new", args=["order"])
    wrong = client.post(form, {"order": "A26-777777"})
    assert wrong.status_code == 422 and 'value="A26-777777"' in wrong.content.decode()
    assert "No order of this laboratory has this number" in wrong.content.decode()
    page = client.post(form, {"order": order.accession}, follow=True).content.decode()
    report = AuditReport.objects.get()
    assert "Waiting" in page and "data-polled" in page and "Withdraw it" in page
    making.make(report.pk)
    page = read(client, "audit-report", report.pk)
    assert order.accession in page and "Order placed" in page and "SHA-256" in page and "data-polled" not in page
    assert report.short in read(client, "audit-reports") and "Made" in read(client, "audit-reports")
    for name, kind in (
        ("pack.zip", "application/zip"),
        ("report.pdf", "application/pdf"),
        ("events.csv", "text/csv; charset=utf-8"),
    ):
        taken = client.get(reverse("audit-report-file", args=[report.pk, name]))
        assert taken["Content-Type"] == kind and taken["Content-Disposition"].startswith(f'attachment; filename="{report.short}')
        assert len(b"".join(taken.streaming_content)) > 100
    assert client.get(reverse("audit-report-file", args=[report.pk, "nothing.csv"])).status_code == 404
    actions = list(
        Event.objects.filter(object_id=str(report.pk), actor_id__isnull=False).order_by("id").values_list("action", flat=True)
    )
    assert actions == ["audit_report.asked", "audit_report.viewed", *["audit_report.taken"] * 3]


def test_a_made_report_that_somebody_reads_by_its_live_part_is_a_look(ward):
    logged_in(Role.AUDITOR, ward.laboratory).post(reverse("audit-report-new", args=["order"]), {"order": ward.order().accession})
    report, reader, looks = AuditReport.objects.get(), logged_in(Role.DIRECTOR, ward.laboratory), []
    for _ in range(2):
        read(reader, "audit-report-live", report.pk)
        looks.append(Event.objects.filter(action="audit_report.viewed").count())
        making.make(report.pk)
    assert read(reader, "audit-report-live", report.pk) and looks == [0, 1]


def test_it_is_withdrawn_and_says_so(ward):
    client = logged_in(Role.DIRECTOR, ward.laboratory)
    day = {"since": "2026-01-01", "until": "2026-01-31"}
    client.post(reverse("audit-report-new", args=["period"]), day)
    report = AuditReport.objects.get()
    page = client.post(reverse("audit-report-withdraw", args=[report.pk]), follow=True).content.decode()
    assert f"{report.short} is withdrawn" in page and "withdrawn before it was made" in page
    again = client.post(reverse("audit-report-withdraw", args=[report.pk]), follow=True).content.decode()
    assert "not being made any more" in again
    assert "since=2026-01-01" in again  # what was asked can be asked again


def test_a_pack_that_is_not_as_it_was_kept_is_not_given_out_and_nobody_took_it(ward):
    client = logged_in(Role.AUDITOR, ward.laboratory)
    client.post(reverse("audit-report-new", args=["order"]), {"order": ward.order().accession})
    report = AuditReport.objects.get()
    making.make(report.pk)
    report.refresh_from_db()
    kept = storage.path_of(report.pack.sha256)
    for spoil in (lambda: kept.write_bytes(kept.read_bytes()[:-1] + b"!"), kept.unlink):
        spoil()
        for name in ("pack.zip", "events.csv"):
            answer = client.get(reverse("audit-report-file", args=[report.pk, name]))
            assert answer.status_code == 500 and "is not as it was kept" in answer.content.decode()
    assert not Event.objects.filter(action="audit_report.taken").exists()


@pytest.mark.parametrize("role", [role for role in Role.values if role != Role.SERVICE])
def test_auditors_and_directors_of_the_laboratory_and_nobody_else(ward, role):
    ward.order()
    client = logged_in(Role.AUDITOR, ward.laboratory)
    client.post(reverse("audit-report-new", args=["period"]), {"since": "2026-01-01", "until": "2026-01-02"})
    report = AuditReport.objects.get()
    making.make(report.pk)
    may = role in {"auditor", "director"}
    mine, strange = logged_in(role, ward.laboratory), logged_in(role, Ward().laboratory)
    one = [reverse(name, args=[report.pk]) for name in ("audit-report", "audit-report-live")]
    one.append(reverse("audit-report-file", args=[report.pk, "pack.zip"]))
    assert [mine.get(address).status_code for address in one] == [200 if may else 404] * 3
    assert [strange.get(address).status_code for address in one] == [404] * 3
    assert strange.post(reverse("audit-report-withdraw", args=[report.pk])).status_code == 404
    whole = [reverse("audit-reports"), reverse("audit-report-new", args=["order"])]
    assert [mine.get(address).status_code for address in whole] == [200 if may else 403] * 2
    elsewhere = logged_in(role, ward.hospital)
    assert [elsewhere.get(address).status_code for address in whole] == [403] * 2  # it is the laboratory's trail
    assert report.short not in strange.get(whole[0]).content.decode()
