"""What came by FHIR and is not placed is seen by people, and settled by them."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from foundation import clock
from interop.models import FhirOrder
from orders.models import Order
from tests.dashboard.desk import vcf
from tests.factories import make_laboratory, make_user
from tests.interop.fhir.sender import Sender, document, patient, specimen

pytestmark = pytest.mark.django_db


def worklist(user) -> str:
    client = Client()
    client.force_login(user)
    return client.get(reverse("worklist"), follow=True).content.decode()


def test_it_stands_on_the_worklist_of_both_sides_and_of_no_stranger(site):
    sender = Sender(site)
    sender.order(patient(), specimen(), document("no VCF"), priority="stat")
    for user in (site.user(), site.user(Role.ANALYST)):
        page = worklist(user)
        assert 'id="asked-by-fhir"' in page and "55-201" in page and "88-1204" in page
    assert "55-201" not in worklist(make_user(role=Role.DIRECTOR, organisation=make_laboratory()))


def test_what_waits_for_its_check_shows_when_that_takes_long(site, monkeypatch):
    Sender(site).order(checked=False)
    user = site.user()
    assert "asked-by-fhir" not in worklist(user)
    later = clock.now() + timedelta(minutes=2)
    monkeypatch.setattr(clock, "_source", lambda: later)
    assert "still being checked" in worklist(user)


def test_people_settle_it_by_command(site, capsys):
    sender, user = Sender(site), site.user()
    file = vcf(300, samples=("tumour", "blood"), genotypes=("0/1", "0/0"))
    pk = sender.order(patient(), specimen(), document(file))
    with pytest.raises(CommandError, match="no sample"):
        call_command("settle_fhir_order", "55-201", "--by", user.email, "--sample", "liver")
    call_command("settle_fhir_order", "55-201", "--by", user.email, "--sample", "tumour")
    sender.check()
    assert str(Order.objects.get().pk) == pk
    with pytest.raises(CommandError, match="found: none"):
        call_command("settle_fhir_order", "55-201", "--by", user.email, "--close", "x")
    other = sender.order(patient(), specimen(), document("no VCF"), identifier=[{"system": "https://h.example", "value": "2"}])
    call_command("settle_fhir_order", other, "--by", user.email, "--close", "ordered on paper")
    assert FhirOrder.objects.get(pk=other).state == "closed" and "closed" in capsys.readouterr().out
