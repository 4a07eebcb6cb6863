"""What came by FHIR and waits, and an order whose number is taken: read and settled at a browser, wide and narrow."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from interop.models import FhirOrder
from orders.models import Order
from tests.browser.served import NARROW, WIDE, elsewhere
from tests.browser.test_every_page import serious
from tests.factories import make_test_version
from tests.interop.caller import Site
from tests.interop.fhir.sender import Sender, document, patient, specimen

pytestmark = pytest.mark.browser
PICTURES = os.environ.get("SCREENSHOTS", "")  # a folder, for docs/screenshots


def sent() -> str:
    """By the demonstration's hospital: an order, a STAT one under its number, and one whose file is none."""
    known = Order.objects.earliest("placed_at")
    site = Site.__new__(Site)
    site.laboratory, site.hospital = known.performing_laboratory, known.ordering_organisation
    site.test = make_test_version(laboratory=site.laboratory)
    sender = Sender(site)
    sender.order()
    sender.order(priority="stat", reasonCode=[{"text": "sepsis"}])
    refused = [{"system": "https://hospital.example/orders", "value": "55-202"}]
    sender.order(patient(), specimen(), document("no VCF"), priority="stat", identifier=refused)
    return str(Order.objects.get(attention="order.conflict").pk)


def look(page, name: str) -> None:
    for size in (NARROW, WIDE):
        page.set_viewport_size(size)
        assert serious(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        if PICTURES:
            page.screenshot(path=Path(PICTURES) / f"{name}-{size['width']}.png", full_page=True)


def test_a_number_that_is_taken_and_a_file_that_is_none_are_settled(person):
    conflict, page = elsewhere(sent), person("analyst").page
    page.goto("/?chip=attention")
    expect(page.locator("#chip-attention b")).to_have_text("2")
    page.click("#asked-by-fhir a")
    expect(page.locator("#asked-state")).to_contain_text("It waits for a person.")
    look(page, "fhir-asked")
    page.fill("#id_words", "ordered on paper")
    page.click("text=Refuse it >> nth=-1")
    expect(page.locator("#asked-state")).to_contain_text("ordered on paper")
    assert elsewhere(lambda: FhirOrder.objects.get(placer_number="55-202").state) == "closed"
    page.goto(f"/orders/{conflict}/")
    page.click("#conflict-link")
    look(page, "order-conflict")
    page.check("input[name=do][value=new]")
    page.click("text=Decide >> nth=-1")
    expect(page.locator("#by-fhir")).to_contain_text("55-201")
    look(page, "order-by-fhir")
    assert elsewhere(lambda: Order.objects.get(pk=conflict).state) == "accepted"
