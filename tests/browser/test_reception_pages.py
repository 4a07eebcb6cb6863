"""A specimen received by keyboard alone, one rejected and collected again; every page of reception and lists under axe-core."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from accounts.models import Organisation
from orders.models import Order
from tests.browser.served import NARROW, WIDE, elsewhere
from tests.browser.test_every_page import serious
from tests.factories import make_provider

pytestmark = pytest.mark.browser
PICTURES = os.environ.get("HELICASE_SCREENSHOTS")  # a folder: pictures of the pages are kept there


def kept(page, name):
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
        if PICTURES:
            page.screenshot(path=Path(PICTURES) / f"{name}-{size['width']}.png", full_page=True)
    page.set_viewport_size(WIDE)


def prepared():
    hospital, laboratory = (Organisation.objects.get(code=code) for code in ("demo-hospital", "demo-laboratory"))
    make_provider(hospital, "Dr Rita Ordering", department="Ward 4", phone="+00 000 2001")
    npi = {"identifier_system": "NPI", "identifier": "1234567893"}
    make_provider(laboratory, "Dr Dana Director", phone="+00 000 1001", alternative="night desk, +00 000 1009", **npi)
    order = Order.objects.select_related("specimen", "test_version").get()
    return order.accession, order.specimen.identifier, str(order.pk), str(order.test_version_id)


def test_a_specimen_is_received_by_keyboard_and_one_that_is_rejected_is_ordered_again(person):
    accession, label, pk, test = elsewhere(prepared)
    page = person("accessioner").page
    page.goto("/specimens/")
    assert serious(page) == []
    expect(page.locator("#scan")).to_be_focused()
    page.keyboard.type(label)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text(label)
    assert "Muster, Maria" in page.inner_text(".sticky") and "MRN" in page.inner_text(".sticky")
    assert serious(page) == []
    expect(page.locator("#receive")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("p.good")).to_contain_text(f"The specimen of order {accession} is received.")
    expect(page.locator("#scan")).to_be_focused()
    page.goto(f"/orders/{pk}/specimen")
    page.click("#reject")
    page.select_option("#id_reason", "specimen.haemolysed")
    kept(page, "rejection")
    page.click("#reject")
    expect(page.locator("p.good")).to_contain_text("is rejected")
    page.goto("/specimens/")
    kept(page, "specimens")
    for address in ("/providers/", f"/tests/{test}/"):
        page.goto(address)
        assert serious(page) == [], address
        kept(page, address.split("/")[1].replace("tests", "test"))
    again(person("requester").page, accession, pk)


def again(page, accession, pk):
    """The requester reads of it on his worklist, and orders again."""
    page.goto("/")
    expect(page.locator("#rejected-specimens")).to_contain_text(accession)
    page.get_by_role("link", name=f"Order again: {accession}").click()
    page.wait_for_selector("#recollect")
    kept(page, "recollection")
    page.click("#recollect")
    page.wait_for_selector("#order-form")
    assert page.input_value("#id_family_name") == "Muster" and page.input_value("#id_specimen_identifier") == ""
    assert page.input_value("[name=repeats]") == pk


def test_an_administrator_keeps_sites(person):
    page = person("administrator").page
    page.goto("/sites/")
    assert serious(page) == []
    for name, value in {"name": "North campus", "code": "north", "address": "7 Hill Road\nHilltown"}.items():
        page.fill(f"#id_{name}", value)
    page.click("#save")
    expect(page.locator("p.good")).to_contain_text("North campus is added.")
    kept(page, "sites")
