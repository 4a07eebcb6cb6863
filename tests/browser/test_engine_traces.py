"""The last seconds of a worker that runs, drawn by a click on the engine page."""

import json
from pathlib import Path

import pytest

from tests.browser.served import NARROW
from tests.browser.test_every_page import serious

pytestmark = pytest.mark.browser


def test_a_click_draws_what_a_worker_did(person, served):
    served.start_workers()
    page = person("director").page
    page.goto("/engine/")
    page.get_by_role("button", name="Draw the last 10 seconds").click(timeout=60_000)
    page.get_by_text("is asked what it did").wait_for()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Picture").click(timeout=30_000)
    opened.value.wait_for_load_state()
    assert opened.value.evaluate("document.documentElement.tagName") == "svg"
    with page.expect_download() as file:
        page.get_by_role("link", name="for Perfetto").click()
    assert "traceEvents" in json.loads(Path(file.value.path()).read_text())
    assert serious(page) == []
    page.set_viewport_size(NARROW)
    assert serious(page) == []
