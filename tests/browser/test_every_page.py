"""Every page under axe-core, in both schemes, wide and narrow."""

from io import BytesIO

import pytest
from axe_playwright_python.sync_playwright import Axe
from pypdf import PdfReader

from foundation import clock
from orders.models import Order
from tests.browser import form
from tests.browser.served import NARROW, WIDE, elsewhere
from tests.factories import make_ready_intake, make_test_version
from tests.reports.cases import scored_order

pytestmark = pytest.mark.browser
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], "resultTypes": ["violations"]}
SERIOUS = {"serious", "critical"}


def orders(variants=10):
    """The demonstration order being scored; a scored STAT order and a cancelled one of the same laboratory."""
    running = Order.objects.get()
    Order.objects.filter(pk=running.pk).update(
        state="in_analysis", items_done=40, started_at=clock.now(), attention="result.item-failed"
    )
    test = make_test_version(laboratory=running.performing_laboratory)
    intakes = [
        make_ready_intake(test_version=test, organisation=running.ordering_organisation, variants=variants) for _ in range(2)
    ]
    scored = scored_order(intake=intakes[0], variants=variants, priority="stat", stat_reason="suspected sepsis")
    cancelled = scored_order(intake=intakes[1], variants=variants, finished=False)
    Order.objects.filter(pk=cancelled.pk).update(state="cancelled", ended_at=clock.now())
    return [str(order.pk) for order in (running, scored, cancelled)]


def addresses():
    running, scored, cancelled = elsewhere(orders)
    pages = ["/", "/?chip=attention", "/?q=nobody", "/orders/new/", "/engine/", "/nothing/here"]
    pages += [f"/orders/{pk}/" for pk in (running, scored, cancelled)]
    return [*pages, f"/orders/{running}/cancel", f"/orders/{scored}/report/"]


def serious(page):
    found = Axe().run(page, options=RULES).response["violations"]
    return [(one["id"], one["nodes"][0]["target"], one["nodes"][0]["failureSummary"]) for one in found if one["impact"] in SERIOUS]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(person, scheme):
    page = person("analyst", color_scheme=scheme).page
    for address in addresses():
        page.goto(address)
        assert serious(page) == [], address


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_an_order_is_written(person, checked, scheme):
    page = person("analyst", color_scheme=scheme).page
    form.choose_test(page)
    form.check(page, form.WRONG_REF.read_text())
    page.check("#id_priority_0")
    assert serious(page) == []
    page.click("#place")
    page.wait_for_selector("#error-summary")
    assert serious(page) == []


def test_axe_finds_nothing_serious_before_anybody_is_logged_in(browser, served):
    page = browser.new_page(base_url=served.url)
    page.goto("/login/")
    assert serious(page) == []
    page.fill("#id_username", "nobody@example.org")
    page.fill("#id_password", "wrong")
    page.click("main button")
    page.wait_for_selector("#error-summary")
    assert serious(page) == []
    page.close()


def test_axe_finds_nothing_serious_in_the_help(person):
    page = person("analyst").page
    page.keyboard.press("?")
    assert serious(page) == []


def test_no_page_is_wider_than_a_telephone(person):
    page = person("analyst").page
    page.set_viewport_size(NARROW)
    for address in addresses():
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], address


def ends_of(page, selector):
    """Where each of these ends on the right, and the lines on which they stand."""
    boxes = page.eval_on_selector_all(selector, "all => all.map(one => one.getBoundingClientRect().toJSON())")
    return max(box["right"] for box in boxes), {round(box["y"]) for box in boxes}


def test_every_entry_of_the_bar_is_in_sight_on_a_telephone(person):
    page = person("accessioner").page
    page.set_viewport_size(NARROW)
    assert page.locator("header nav a").count() > 5
    assert ends_of(page, "header nav a")[0] <= NARROW["width"]


def test_chips_stand_on_one_line_and_search_and_filters_on_the_next(person):
    page = person("analyst").page
    assert len(ends_of(page, ".chips a")[1]) == 1
    lines = ends_of(page, ".find, #narrow, #saved")[1]
    assert max(lines) - min(lines) < 12 and min(lines) - max(ends_of(page, ".chips a")[1]) < 60
    page.click("#narrow summary")
    assert ends_of(page, "#narrow select")[0] <= WIDE["width"] and page.locator("#narrow").bounding_box()["width"] > 900


@pytest.mark.parametrize("address", ["/orders/{}/", "/orders/{}/report/", "/orders/{}/review"])
def test_every_printed_sheet_says_whose_results_these_are(person, address):
    page = person("analyst").page
    page.goto(address.format(elsewhere(lambda: orders(variants=200))[1]))
    sheets = [sheet.extract_text() for sheet in PdfReader(BytesIO(page.pdf(prefer_css_page_size=True))).pages]
    assert len(sheets) > 1
    for sheet in sheets:
        assert "Muster, Maria" in sheet and "MRN" in sheet and "NOT FOR CLINICAL USE" in sheet


def test_no_printed_row_lies_under_the_head_of_its_sheet(person):
    page = person("analyst").page
    page.goto(f"/orders/{elsewhere(lambda: orders(variants=200))[1]}/report/")
    sheets = [heights_of(sheet) for sheet in PdfReader(BytesIO(page.pdf(prefer_css_page_size=True))).pages]
    assert sum("PASS" in heights for heights in sheets) > 2
    for heights in sheets:
        head = min(height for words, height in heights.items() if "Report version" in words)
        assert heights.get("PASS", 0) < head - 8, heights


def heights_of(sheet):
    """Text of a sheet → the highest place at which it stands, in points above the foot."""
    found = {}

    def note(text, matrix, text_matrix, *_):
        if text.strip():
            height = matrix[1] * text_matrix[4] + matrix[3] * text_matrix[5] + matrix[5]
            found[text.strip()] = max(height, found.get(text.strip(), height))

    sheet.extract_text(visitor_text=note)
    return found


def test_the_patient_stays_in_sight_while_results_are_read(person):
    page = person("analyst").page
    scored = elsewhere(orders)[1]
    page.goto(f"/orders/{scored}/")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    head = page.locator(".sticky").bounding_box()
    assert head["y"] >= 0 and head["y"] < 5 and "Muster" in page.inner_text(".sticky")


@pytest.mark.parametrize("address", ["/orders/{}/", "/orders/{}/report/"])
def test_on_a_telephone_no_score_and_no_part_of_the_picture_lies_to_the_side(person, address):
    page = person("analyst").page
    page.set_viewport_size(NARROW)
    page.goto(address.format(elsewhere(orders)[1]))
    boxes = [
        page.locator(".locus svg:visible").bounding_box(),
        page.locator(".results-table [data-label='Δ']").first.bounding_box(),
    ]
    change = page.locator(".results-table :is([data-label='Change'], [data-label='REF > ALT'])").first
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= NARROW["width"] for box in boxes), boxes
    assert change.is_visible() and change.bounding_box()["height"] < 30


@pytest.mark.parametrize("address", ["/orders/{}/", "/orders/{}/report/"])
def test_on_a_telephone_the_letters_of_the_picture_are_as_large_as_those_beside_it(person, address):
    page = person("analyst").page
    page.set_viewport_size(NARROW)
    page.goto(address.format(elsewhere(orders)[1]))
    heights = [box["height"] for text in page.locator(".locus svg:visible text").all() if (box := text.bounding_box())]
    assert len(heights) > 5 and min(heights) > 10, heights
    page.set_viewport_size(WIDE)
    assert page.locator(".locus svg:visible").get_attribute("class") == "page"


def test_in_the_dark_the_picture_is_not_a_white_box(person):
    page = person("analyst", color_scheme="dark").page
    page.goto(f"/orders/{elsewhere(orders)[1]}/report/")
    shown = "one => getComputedStyle(one).fill"
    assert page.locator(".locus svg > rect").first.evaluate(shown) == "rgb(20, 29, 36)"
    assert page.locator(".locus svg text").first.evaluate(shown) != "rgb(71, 85, 105)"
