"""A question by keyboard alone: typed, counted, asked, watched until it is answered, taken away as a file."""

import json
import os

import pytest
from playwright.sync_api import expect

from questions.models import Question
from tests.browser.served import NARROW, WIDE, elsewhere
from tests.browser.test_every_page import serious

pytestmark = pytest.mark.browser
PICTURES = os.environ.get("HELICASE_SCREENSHOTS", "")  # a folder for screenshots, as they are kept in docs/screenshots
SEQUENCE = "ATGAAAGCGTTAACGGCCAGGCAACAAGAGGTGTTTGATCTCATCCGTGATCACATCAGCC"


def pictured(page, name):
    """Kept at both widths, where somebody wants to look at them."""
    for size in (WIDE, NARROW) if PICTURES else ():
        page.set_viewport_size(size)
        page.screenshot(path=f"{PICTURES}/{name}-{size['width']}.png", full_page=True)
    page.set_viewport_size(WIDE)


def test_a_question_is_asked_by_keyboard_and_its_answer_taken_away(person, served):
    page = person("analyst").page
    page.goto("/questions/new/")
    expect(page.locator("#id_text")).to_be_focused()
    page.keyboard.type(f">lexA start\n{SEQUENCE}\n>other\nACGT!")
    expect(page.locator("#amount")).to_contain_text("2 sequences")
    expect(page.locator("#faults")).to_contain_text("Line 4: “!” is no base")
    page.reload()  # nothing is lost with the page
    expect(page.locator("#id_text")).to_have_value(f">lexA start\n{SEQUENCE}\n>other\nACGT!")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#error-summary")).to_contain_text("Line 4")
    page.fill("#id_text", f">lexA start\n{SEQUENCE}\n>other\n{SEQUENCE[::-1]}")
    expect(page.locator("#amount")).to_contain_text("2 sequences, 122 bases")
    expect(page.locator("#id_text_error li")).to_have_count(0)  # it spoke of the text as it was
    page.check("#id_priority_asap")  # before the demonstration order, whose tickets another broker has
    assert page.locator("#id_length").is_hidden() and serious(page) == []
    pictured(page, "question-form")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#state")).to_have_text("Waiting")
    served.start_workers()
    expect(page.locator("#state")).to_have_text("Answered", timeout=120_000)
    expect(page.locator("#answer svg")).to_have_count(4)
    assert serious(page) == []
    pictured(page, "question-score")
    with page.expect_download() as taken:
        page.click("text=answer.json")
    said = json.loads(taken.value.path().read_text())
    assert [one["name"] for one in said["sequences"]] == ["lexA", "other"] and said["use"] == "research use, no report"
    director = person("director").page
    director.goto(f"{page.url}audit")
    expect(director.locator(".trail")).to_contain_text("Took the answer as a file")
    pictured(director, "question-audit")
    director.set_viewport_size(NARROW)
    assert director.evaluate("document.documentElement.scrollWidth") <= NARROW["width"] and serious(director) == []
    page.set_viewport_size(NARROW)
    for address in (page.url, "/questions/", "/questions/new/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"] and serious(page) == [], address
    assert page.input_value("#id_text") == ""  # what was asked is not kept any longer
    assert elsewhere(lambda: Question.objects.get().run.state) == "scored"
