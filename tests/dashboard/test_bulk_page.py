"""The pages of bulk orders: what they say, what they offer, to whom, and at what cost."""

import csv
import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from accounts.roles import Role
from orders.models import Manifest, Order
from tests.factories import make_organisation, make_user
from tests.orders.test_manifests import Bench, cells, vcf, worked, zip_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench() -> Bench:
    return Bench()


def client_of(bench: Bench) -> Client:
    client = Client()
    client.force_login(User.objects.get(pk=bench.actor.id))
    return client


def as_role(role: Role, organisation: Any) -> Client:
    client = Client()
    client.force_login(make_user(role=role, organisation=organisation))
    return client


def page(client: Client, manifest: Manifest, **query: str) -> str:
    return client.get(reverse("bulk", args=[manifest.pk]), query).content.decode()


def test_a_manifest_is_sent_checked_placed_and_told(bench: Bench) -> None:
    client = client_of(bench)
    content = zip_of(bench.csv(cells(1), cells(2, sex="?")), {"1.vcf": vcf(100), "2.vcf": vcf(101)})
    sent = client.post(reverse("bulk-new"), {"file": SimpleUploadedFile("orders.zip", content)})
    manifest = Manifest.objects.get()
    assert sent["Location"] == reverse("bulk", args=[manifest.pk])
    assert "Waiting to be read" in page(client, manifest)
    manifest = worked(manifest)
    shown = page(client, manifest)
    assert "1 of 2 rows cannot be placed" in shown and "<code>sex</code>: Choose one of the listed values." in shown
    assert "Place all" not in shown and "Place the 1 valid row only" in shown
    answer = client.post(reverse("bulk", args=[manifest.pk]), {"do": "all", "version": manifest.version})
    assert answer.status_code == 409 and "Some rows are not valid" in answer.content.decode()
    client.post(reverse("bulk", args=[manifest.pk]), {"do": "valid", "version": manifest.version})
    worked(manifest)
    shown = page(client, manifest, show="placed")
    assert Order.objects.get().accession in shown and "1 order placed, 1 not." in shown


def test_the_verdict_is_a_table_that_no_spreadsheet_runs(bench: Bench) -> None:
    manifest = bench.sent(cells(1, sex="?"), cells(2, file="=cmd()"), files={"1.vcf": vcf(100)})
    text = client_of(bench).get(reverse("bulk-verdict.csv", args=[manifest.pk])).content.decode()
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [(line["row"], line["column"], line["code"]) for line in lines] == [
        ("2", "sex", "manifest.value"),
        ("3", "file", "manifest.file-missing"),
    ]
    assert client_of(bench).get(reverse("bulk-template")).content.startswith(b"mrn,family_name")


@pytest.mark.parametrize("name", ["bulk", "bulk-live", "bulk-verdict.csv"])
def test_the_owner_and_his_colleague_see_it_and_a_stranger_does_not(bench: Bench, name: str) -> None:
    manifest = bench.sent(cells(1))
    address = reverse(name, args=[manifest.pk])
    people = {client_of(bench): 200, as_role(Role.REQUESTER, bench.hospital): 200, as_role(Role.DIRECTOR, make_organisation()): 404}
    assert [client.get(address).status_code for client in people] == list(people.values())


def test_who_only_looks_on_neither_sends_nor_places_nor_stops(bench: Bench) -> None:
    manifest = bench.sent(cells(1))
    address, reviewer = reverse("bulk", args=[manifest.pk]), as_role(Role.REVIEWER, bench.hospital)
    assert b"Place " not in reviewer.get(address).content
    for client, status in ((reviewer, 409), (as_role(Role.REQUESTER, make_organisation()), 404)):
        for what in ("all", "valid", "stop"):
            assert client.post(address, {"do": what, "version": manifest.version}).status_code == status
    assert reviewer.post(reverse("bulk-new"), {}).status_code == 403
    assert (Manifest.objects.get().state, Order.objects.count()) == ("checked", 0)


@pytest.mark.parametrize("data", [{}, {"do": "all", "version": "x"}, {"do": "valid", "version": "9" * 30}, {"do": "everything"}])
def test_nonsense_changes_nothing_and_is_told(bench: Bench, data: dict[str, str]) -> None:
    manifest = bench.sent(cells(1))
    answer = client_of(bench).post(reverse("bulk", args=[manifest.pk]), data)
    assert answer.status_code == 409 and b"Nothing was changed." in answer.content


def test_a_form_without_a_file_says_so(bench: Bench) -> None:
    answer = client_of(bench).post(reverse("bulk-new"), {})
    assert answer.status_code == 422 and b"Choose a file" in answer.content


def test_more_rows_need_no_more_queries(bench: Bench) -> None:
    client, few, many = client_of(bench), bench.sent(cells(1)), bench.sent(*(cells(n) for n in range(10, 20)))
    page(client, few)
    counts = []
    for manifest in (few, many):
        with CaptureQueriesContext(connection) as queries:
            page(client, manifest)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_command_does_what_the_page_does(bench: Bench, tmp_path: Any) -> None:
    path, said, by = tmp_path / "orders.zip", io.StringIO(), User.objects.get(pk=bench.actor.id).email
    path.write_bytes(zip_of(bench.csv(cells(1), cells(2, sex="?")), {"1.vcf": vcf(100), "2.vcf": vcf(101)}))
    call_command("place_manifest", str(path), "--by", by, "--dry-run", stdout=said)
    assert "row 3, sex: invalid: Choose one of the listed values. [manifest.value]" in said.getvalue()
    with pytest.raises(CommandError, match="Some rows are not valid"):
        call_command("place_manifest", str(path), "--by", by, stdout=said)
    assert not Order.objects.exists()
    call_command("place_manifest", str(path), "--by", by, "--valid-only", stdout=said)
    assert f"row 2: placed {Order.objects.get().accession}" in said.getvalue()


def test_the_command_refuses_strangers_and_missing_files(bench: Bench, tmp_path: Any) -> None:
    by = User.objects.get(pk=bench.actor.id).email
    with pytest.raises(CommandError, match="No such file"):
        call_command("place_manifest", str(tmp_path / "absent.csv"), "--by", by)
    nobody = make_user(role=Role.AUDITOR, organisation=bench.hospital)
    with pytest.raises(CommandError, match="places no orders"):
        call_command("place_manifest", str(tmp_path / "absent.csv"), "--by", nobody.email)


def test_a_refused_file_says_what_to_do_now_and_throwing_away_asks_first(bench: Bench) -> None:
    client = client_of(bench)
    client.post(reverse("bulk-new"), {"file": SimpleUploadedFile("orders.csv", b"nothing,that,is known\n1,2,3\n")})
    refused = page(client, worked(Manifest.objects.get()))
    assert "send it again" in refused and f'href="{reverse("bulk-new")}">Send the mended file' in refused
    manifest = bench.sent(cells(1))
    shown = page(client, manifest)
    assert 'value="stop"' not in shown and 'id="throw-sure"' in page(client, manifest, ask="throw")
    client.post(reverse("bulk", args=[manifest.pk]), {"do": "stop", "version": manifest.version})
    assert "Thrown away" in page(client, manifest) and 'id="throw-sure"' not in page(client, manifest, ask="throw")
