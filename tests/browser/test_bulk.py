"""Bulk orders in a browser: send a ZIP with one bad row, read the verdict, place the valid rows only, see the orders."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from registry.models import TestDefinition
from tests.browser import form
from tests.browser.served import NARROW, elsewhere
from tests.browser.test_every_page import serious
from tests.orders.test_manifests import cells, csv_of, zip_of

pytestmark = pytest.mark.browser
PICTURES = os.environ.get("HELICASE_PICTURES")


def picture(page, name):
    """Kept where somebody asked for pictures: in two widths."""
    if PICTURES:
        page.wait_for_timeout(300)
        for width, size in (("1280", {"width": 1280, "height": 800}), ("390", NARROW)):
            page.set_viewport_size(size)
            page.screenshot(path=Path(PICTURES) / f"{name}-{width}.png", full_page=True)
        page.set_viewport_size({"width": 1280, "height": 800})


def test_a_zip_with_one_bad_row_becomes_the_orders_of_the_others(person, checked):
    code = elsewhere(lambda: TestDefinition.objects.get(name=form.TEST).code)
    named = {"family_name": "Okafor", "given_name": "Ngozi", "test": code, "file": "lexA.vcf"}
    rows = [
        cells(1, **named),
        cells(2, **{**named, "priority": "stat", "stat_reason": "suspected sepsis", "file": "small.vcf"}),
        cells(3, **{**named, "birth_date": "31.01.1970", "collected_at": "2026-10-25 02:30", "file": "lost.vcf"}),
        cells(4, **{**named, "file": "small.vcf"}),
    ]
    files = {"lexA.vcf": form.first_records(12).encode(), "small.vcf": form.first_records(3).encode(), "notes.pdf": b"%PDF"}
    page = person("analyst").page
    page.goto("/")
    page.get_by_role("link", name="Bulk orders").click()
    assert serious(page) == []
    picture(page, "bulk-new")
    page.set_input_files("#id_file", {"name": "monday.zip", "mimeType": "application/zip", "buffer": zip_of(csv_of(rows), files)})
    page.get_by_role("button", name="Check the rows").click()
    expect(page.locator("#bulk > .alarm")).to_contain_text("1 of 4 rows cannot be placed")
    expect(page.locator("#row-4")).to_contain_text("Write the date as YYYY-MM-DD")
    expect(page.locator("#bulk")).to_contain_text("notes.pdf")
    assert serious(page) == []
    picture(page, "bulk-verdict")
    page.get_by_role("button", name="Place the 3 valid rows only").press("Enter")
    expect(page.locator("#bulk > [role=status]")).to_contain_text("3 orders placed, 1 not.")
    page.get_by_role("link", name="Placed 3").click()
    assert page.locator("#bulk tbody tr").count() == 3
    assert serious(page) == []
    picture(page, "bulk-placed")
    page.locator("#row-3 a").click()
    expect(page.locator("main")).to_contain_text("STAT")
