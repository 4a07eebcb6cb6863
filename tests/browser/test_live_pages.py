"""What a page says and does when the link to the server breaks, and what is kept going in the browser."""

import pytest
from playwright.sync_api import expect

from dashboard import wording
from orders.models import Order
from tests.browser.served import elsewhere, until
from tests.factories import PASSWORD
from tests.forging import forge

pytestmark = pytest.mark.browser


def rereads(page):
    """Addresses of live parts that the page has asked for, from now on."""
    asked = []
    page.on(
        "request",
        lambda request: asked.append(request.url) if "/live" in request.url and request.resource_type != "websocket" else None,
    )
    return asked


def drop_sockets(page):
    page.route_web_socket("**/live/**", lambda socket: socket.close())


def test_without_a_socket_the_page_says_so_and_polls(person):
    page = person("analyst").page
    drop_sockets(page)
    page.clock.install()
    page.goto("/")
    expect(page.locator("#link-state[data-link=retrying]")).to_contain_text("reconnecting · reading every 15 s")
    asked = rereads(page)
    page.clock.run_for(16_000)
    until(lambda: asked, page)
    assert "/worklist/live" in asked[0]


def test_polling_can_be_switched_off(person):
    page = person("analyst").page
    drop_sockets(page)
    page.clock.install()
    page.goto("/?poll=off")
    expect(page.locator("#link-state[data-link=retrying]")).to_contain_text("not reading")
    asked = rereads(page)
    page.clock.run_for(60_000)
    page.wait_for_timeout(300)
    assert asked == []


def test_a_hint_that_comes_while_the_page_reads_itself_is_not_lost(person):
    page = person("analyst").page
    sockets, held = [], []
    page.route_web_socket("**/live/**", lambda socket: sockets.append(socket))
    page.route("**/worklist/live*", lambda route: route.continue_() if held else held.append(route))
    page.goto("/?poll=off")
    until(lambda: held, page)  # a page reads itself as soon as it is connected
    before = held[0].fetch()
    elsewhere(lambda: forge(Order.objects.get(), stat_reason="changed while the page was reading"))
    sockets[-1].send("{}")
    page.wait_for_timeout(1_200)  # the worklist waits a second between two readings
    held[0].fulfill(response=before)
    expect(page.locator("#worklist-live")).to_contain_text("changed while the page was reading")


def test_a_server_that_goes_is_told_and_one_that_comes_back_is_read_again(person, served):
    page = person("analyst").page
    page.goto("/")
    page.wait_for_selector("#link-state[data-link=live]")
    served.stop_web()
    expect(page.locator("#link-state")).to_have_attribute("data-link", "retrying")
    page.evaluate("htmx.trigger('#worklist-live', 'reread')")
    expect(page.locator("#link-state[data-link=stale]")).to_contain_text("the server does not answer")
    elsewhere(lambda: forge(Order.objects.get(), stat_reason="changed while nobody listened"))
    served.start_web()
    expect(page.locator("#link-state")).to_have_attribute("data-link", "live")
    expect(page.locator("#worklist-live")).to_contain_text("changed while nobody listened")


def test_the_engine_page_says_since_when_it_is_stale(person, served):
    page = person("operator").page
    page.goto("/engine/")
    expect(page.locator("#link-state[data-link=live]")).to_contain_text("read ")
    served.stop_web()
    expect(page.locator("#link-state[data-link=stale]")).to_contain_text("stale since", timeout=20_000)  # it reads itself every 5 s


def test_a_role_without_orders_opens_no_socket(person):
    page = person("auditor").page
    opened = []
    page.on("websocket", lambda socket: opened.append(socket.url))
    page.goto("/")
    page.wait_for_timeout(500)
    assert opened == [] and page.locator("#link-state").count() == 0


def test_logging_out_in_one_window_ends_the_other(person):
    one = person("analyst")
    first, second = one.page, one.context.new_page()
    second.goto("/")
    second.wait_for_selector("#link-state[data-link=live]")
    first.click("text=Log out")
    expect(second.locator("#link-state[data-link=retrying]")).to_be_visible()
    second.evaluate("htmx.trigger('#worklist-live', 'reread')")
    second.wait_for_url("**/login/?ended=yes&next=*")
    second.fill("#id_username", "analyst@demo.helicase.example")
    second.fill("#id_password", PASSWORD)
    second.click("main button")
    second.wait_for_selector("#worklist-live")


def test_time_left_counts_down_in_the_servers_words(person):
    page = person("analyst").page
    seconds = [0, 1, 59, 60, 252, 300, 3599, 3600, 11_400, 36_000, 75_600, 172_800, -1, -59, -200, -4000, -90_000]
    said = page.evaluate(
        "async all => { const {timeLeft} = await import('/static/js/clock.js'); return all.map(s => timeLeft(s * 1000)); }", seconds
    )
    assert said == [wording.time_left(one) for one in seconds]


def test_a_browser_with_a_wrong_clock_shows_the_right_time_left(person):
    page = person("analyst").page
    page.clock.install(time="2031-05-05T05:05:05Z")
    page.goto("/")
    page.clock.run_for(61_000)
    expect(page.locator("[role=timer]").first).to_contain_text("11 h left")


def test_only_thresholds_are_spoken(person):
    page = person("analyst").page
    drop_sockets(page)  # a socket whose answers come late in faked time would speak too
    page.clock.install()
    page.goto("/?poll=off")
    page.wait_for_selector("[role=timer]")
    page.clock.run_for(120_000)
    expect(page.locator("#announcements")).to_have_text("")
    page.clock.fast_forward(7 * 3600 * 1000)
    expect(page.locator("#announcements")).to_contain_text("has used half of its time")


def test_single_keys_search_move_and_help_and_can_be_switched_off(person):
    page = person("analyst").page
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("jk")
    assert page.input_value("#search") == "jk"
    page.locator("#search").blur()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.hasAttribute('data-row-link')")
    page.keyboard.press("?")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.wait_for_timeout(200)
    assert not page.url.endswith("/orders/new/")


def test_what_is_typed_into_the_search_survives_a_reread(person):
    page = person("analyst").page
    sockets = []
    page.route_web_socket("**/live/**", lambda socket: sockets.append(socket))
    page.goto("/")
    page.wait_for_selector("#link-state[data-link=live]")
    page.click("#search")
    page.keyboard.type("Mus")
    page.evaluate("document.querySelector('#worklist-live').dataset.old = 'yes'")
    sockets[-1].send("{}")
    expect(page.locator("#worklist-live:not([data-old])")).to_be_visible()
    page.keyboard.type("ter")
    assert page.input_value("#search") == "Muster"
