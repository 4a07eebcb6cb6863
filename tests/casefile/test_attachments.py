"""Files beside an order: told by their content, kept for good, handed out to be saved and never shown as a page of ours."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.urls import reverse

from accounts.roles import Role
from audit.models import Event
from casefile import attachments, file_kinds
from casefile.errors import BadFile
from casefile.models import Attachment
from storage.services import path_of
from tests.dashboard.people import Ward, logged_in, read
from tests.factories import make_laboratory, make_order

pytestmark = pytest.mark.django_db
PDF = b"%PDF-1.7\n1 0 obj\n"


@pytest.fixture
def ward():
    return Ward()


@pytest.fixture
def order(ward):
    return ward.order()


def send(client, order, content=PDF, name="requisition.pdf", kind="requisition"):
    data = {"file": SimpleUploadedFile(name, content), "kind": kind}
    return client.post(reverse("order-attachments", args=[order.pk]), data)


def laid(ward, order, **said):
    assert send(ward.requester(), order, **said).status_code == 302
    return Attachment.objects.latest("number")


def address(attachment, name="order-attachment", order=None):
    return reverse(name, args=[(order or attachment.order).pk, attachment.pk])


@pytest.mark.parametrize(
    ("content", "is_a"),
    [
        (PDF, "application/pdf"),
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0....", "image/jpeg"),
        ("Stammbaum: Großvater †1961\n".encode(), "text/plain"),
        (b"\xef\xbb\xbfwith a byte order mark", "text/plain"),
    ],
)
def test_a_file_is_what_its_content_says(content, is_a):
    assert file_kinds.recognise([content[:3], content[3:]]).media_type == is_a


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html><script>alert(1)</script>",
        b"  \n<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"\xef\xbb\xbf<?xml version='1.0'?>",
        b"PK\x03\x04 a zip",
        b"MZ\x90\x00 a program",
        b"GIF89a\x01\x00",
        b"text that goes on \xff\xfe",
        b"a null \x00 byte in it",
        b"cut off in a letter: \xc3",
    ],
)
def test_any_other_content_is_refused_whatever_its_name(ward, order, content):
    with pytest.raises(BadFile):
        file_kinds.recognise([content])
    response = send(ward.requester(), order, content=content, name="harmless.pdf")
    assert response.status_code == 422 and "Nothing is attached" in response.content.decode()
    assert not Attachment.objects.exists()


def test_it_is_kept_under_its_digest_and_shown_with_it(ward, order):
    found = laid(ward, order)
    assert path_of(found.file.sha256).read_bytes() == PDF
    page = read(ward.analyst(), "order", order.pk)
    assert found.file.sha256 in page and "requisition.pdf" in page and "Requisition" in page


def test_it_comes_as_a_file_to_be_saved_under_a_name_of_ours(ward, order):
    found = laid(ward, order, content=b"plain words", name='../../x"\r\nSet-Cookie: a=b.html')
    response = ward.analyst().get(address(found))
    assert response["Content-Disposition"] == f'attachment; filename="{order.accession}-file-1.txt"'
    assert response["X-Content-Type-Options"] == "nosniff" and response["Content-Type"] == "text/plain"
    assert "sandbox" in response["Content-Security-Policy"] and "no-store" in response["Cache-Control"]
    assert response.content == b"plain words"


def test_bytes_that_are_not_those_attached_are_handed_to_nobody(ward, order):
    found = laid(ward, order, content=b"%PDF-1.4 damaged later")
    path_of(found.file.sha256).write_bytes(b"other")
    response = ward.analyst().get(address(found))
    assert response.status_code == 500 and "its digest does not match" in response.content.decode()
    assert not Event.objects.filter(action="attachment.downloaded").exists()


def test_a_stranger_and_an_address_under_another_order_get_nothing(ward, order):
    found, other = laid(ward, order), ward.order()
    stranger = logged_in(Role.DIRECTOR, make_laboratory())
    assert stranger.get(address(found)).status_code == 404
    assert stranger.get(address(found, "order-attachment-withdraw")).status_code == 404
    assert send(stranger, order).status_code == 404
    assert ward.analyst().get(address(found, order=other)).status_code == 404


def test_each_person_who_opens_it_is_an_event_and_again_within_minutes_is_not(ward, order):
    found, client = laid(ward, order), ward.analyst()
    for _ in range(2):
        client.get(address(found))
    event = Event.objects.get(action="attachment.downloaded")
    assert (event.object_id, event.facts["sha256"]) == (str(found.pk), found.file.sha256)


def test_a_withdrawn_file_stays_on_record_and_only_auditors_of_the_laboratory_open_it(ward, order):
    found, client = laid(ward, order), ward.requester()
    response = logged_in(Role.ANALYST, ward.laboratory).post(
        address(found, "order-attachment-withdraw"), {"reason": "another patient's"}
    )
    assert response.status_code == 302
    page = read(client, "order", order.pk)
    assert "Withdrawn by" in page and "another patient&#x27;s" in page and address(found) not in page
    assert client.get(address(found)).status_code == 404
    assert logged_in(Role.AUDITOR, ward.laboratory).get(address(found)).status_code == 200
    assert path_of(found.file.sha256).exists()


def test_it_is_withdrawn_once_with_a_reason_by_its_person_or_the_laboratory(ward, order):
    found = laid(ward, order)
    colleague = logged_in(Role.REQUESTER, ward.hospital)
    assert colleague.post(address(found, "order-attachment-withdraw"), {"reason": "no"}).status_code == 409
    analyst = ward.analyst()
    said = analyst.post(address(found, "order-attachment-withdraw"), {"reason": " "})
    assert said.status_code == 409 and "Say why the file is withdrawn" in said.content.decode()
    assert analyst.post(address(found, "order-attachment-withdraw"), {"reason": "twice"}).status_code == 302
    again = analyst.post(address(found, "order-attachment-withdraw"), {"reason": "twice"})
    assert again.status_code == 409
    assert Event.objects.filter(action="state.withdrawn").count() == 1


def test_the_same_content_is_one_file_until_it_was_withdrawn(ward, order):
    client = ward.analyst()
    for _ in range(2):
        send(client, order)
    first = Attachment.objects.get()
    client.post(address(first, "order-attachment-withdraw"), {"reason": "wrong page"})
    send(client, order)
    assert list(Attachment.objects.order_by("number").values_list("number", "state")) == [(1, "withdrawn"), (2, "kept")]


def test_more_than_the_limit_is_refused_and_nothing_is_kept(ward, order, monkeypatch):
    monkeypatch.setattr(attachments, "LIMIT", 10)
    response = send(ward.requester(), order)
    assert response.status_code == 422 and not Attachment.objects.exists()


@pytest.mark.parametrize(("kind", "said"), [("", "Say what the file is"), ("virus", "Say what the file is")])
def test_the_kind_is_asked_for(ward, order, kind, said):
    assert said in send(ward.requester(), order, kind=kind).content.decode()


def test_a_form_without_a_file_says_so(ward, order):
    page = ward.requester().post(reverse("order-attachments", args=[order.pk]), {"kind": "other"})
    assert page.status_code == 422 and "Choose a file" in page.content.decode()


@pytest.mark.parametrize(
    "sql", ["DELETE FROM casefile_attachment", "UPDATE casefile_attachment SET name = 'other'", "TRUNCATE casefile_attachment"]
)
def test_the_database_neither_deletes_nor_renames_a_file(ward, order, sql):
    laid(ward, order)
    with pytest.raises(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


def test_the_database_knows_no_withdrawal_without_a_reason(ward, order):
    found = laid(ward, order)
    with pytest.raises(IntegrityError, match="withdrawn_with_reason"), transaction.atomic():
        Attachment.objects.filter(pk=found.pk).update(state="withdrawn")


def test_an_order_of_the_laboratory_itself_has_files_too(ward):
    order = make_order()
    send(logged_in(Role.ANALYST, order.performing_laboratory), order)
    assert Attachment.objects.get().shared_with_id == order.performing_laboratory_id
