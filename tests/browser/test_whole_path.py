"""The main job in a real browser: log in, paste a VCF, read the verdict, place a STAT order, watch it live, read the report."""

import pytest
from playwright.sync_api import expect

from engine_queue.models import Result
from orders.models import Order
from tests.browser import form
from tests.browser.served import elsewhere

pytestmark = pytest.mark.browser
# Notes every state the live part is in. A reload would begin the notes anew.
WATCH = """() => {
  const seen = window.seen = [];
  const note = () => {
    const live = document.getElementById("order-live");
    if (!live) return;
    const {version, done, total} = live.dataset;
    if (seen.at(-1)?.version !== +version) seen.push({version: +version, done: +done, total: +total});
  };
  new MutationObserver(note).observe(document.body, {subtree: true, childList: true});
  note();
}"""


def committed(accession, version):
    order = Order.objects.get(accession=accession)
    return Result.objects.filter(run__order_id=order.pk, at_version__lte=version).count()


def test_a_stat_order_from_the_form_to_the_report_live_and_without_polling(person, served):
    served.start_workers()
    page = person("analyst").page
    form.choose_test(page)
    form.check(page, form.TWO_HUNDRED.read_text())
    expect(page.locator("#verdict .counts .accepted b")).to_have_text("200")
    form.fill(page, stat=True)
    page.click("#place")
    page.wait_for_url("**/orders/*-*/")
    page.goto(f"{page.url}?poll=off")
    page.evaluate(WATCH)
    page.wait_for_selector("#order-live[data-state=awaiting_review]", timeout=60_000)

    accession = elsewhere(lambda: Order.objects.get(priority="stat").accession)
    seen = page.evaluate("window.seen")
    between = [state for state in seen if 0 < state["done"] < state["total"]]
    assert len({state["done"] for state in between}) >= 3, seen
    for state in seen:
        assert state["done"] == elsewhere(lambda state=state: committed(accession, state["version"])), seen

    expect(page.locator("#results svg:visible")).to_have_count(1)
    expect(page.locator("#results tbody tr")).to_have_count(50)
    page.click("#report-link")
    expect(page.locator("h1")).to_be_visible()
    assert "UNSIGNED" in page.inner_text("main") and accession in page.inner_text("main")


def test_the_worklist_follows_the_work_of_others(person, served):
    served.start_workers()
    watcher = person("reviewer").page
    watcher.goto("/?poll=off")
    watcher.wait_for_selector("#link-state[data-link=live]")
    placer = person("requester").page
    form.choose_test(placer)
    form.check(placer, form.first_records(30))
    form.fill(placer, stat=True)
    placer.click("#place")
    placer.wait_for_url("**/orders/*-*/")
    expect(watcher.locator(".pin tr[data-order]")).to_have_count(1)
    expect(watcher.locator(".pin tr[data-order]")).to_contain_text("Awaiting review", timeout=60_000)
    expect(placer.locator("#order-results")).to_contain_text("Results are shown when the report is released", timeout=60_000)
