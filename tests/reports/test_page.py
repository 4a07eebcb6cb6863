"""The report page."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.roles import Role
from reports import services
from tests.factories import make_user
from tests.reports import cases

pytestmark = pytest.mark.django_db


def page(order, door="report-page"):
    client = Client()
    client.force_login(make_user(role=Role.ANALYST, organisation=order.performing_laboratory))
    return client.get(reverse(door, args=[order.pk]))


def test_it_shows_banner_identity_picture_table_and_methods():
    order = cases.scored_order()
    html = page(order).content.decode()
    for words in (
        "UNSIGNED DRAFT",
        "NOT FOR CLINICAL USE",
        order.accession,
        "born 1970-01-31",
        "<svg",
        "Weights SHA-256",
        "Limitations",
    ):
        assert words in html


def test_page_and_order_page_show_the_same_picture():
    order = cases.scored_order()
    report = re.search(r"<svg.*?</svg>", page(order).content.decode(), re.DOTALL)
    panel = re.search(r"<svg.*?</svg>", page(order, "order").content.decode(), re.DOTALL)
    assert report and panel and report[0] == panel[0]


def test_names_cannot_become_markup():
    order = cases.scored_order(
        patient=cases.patient(family_name="<img src=x onerror=alert(1)>"), indication="</dd><script>x</script>"
    )
    html = page(order).content.decode()
    assert "<img src=x" not in html and "<script>x" not in html and "&lt;img src=x" in html


def test_it_needs_no_exception_from_the_content_security_policy():
    response = page(cases.scored_order())
    html = response.content.decode()
    assert "unsafe" not in response["Content-Security-Policy"]
    assert not re.search(r"\sstyle=|<style|\son\w+=|<script(?![^>]*\ssrc=)", html)


@pytest.mark.parametrize(("door", "status"), [("report-page", 200), ("report-pdf", 409)])
def test_before_the_end_of_scoring_it_says_so_in_words(door, status):
    response = page(cases.scored_order(finished=False), door)
    assert response.status_code == status
    assert "Scoring has not finished" in response.content.decode()


def test_an_order_beyond_one_document_is_explained(monkeypatch):
    monkeypatch.setattr(services, "LARGEST", 5)
    assert "more results than one document holds" in page(cases.scored_order()).content.decode()
