"""The order form under real hands: the keyboard alone, a mistake mended, a sample chosen, two clicks, a dropped file."""

import pytest
from playwright.sync_api import expect

from orders.models import Intake, Order
from tests.browser import form
from tests.browser.served import elsewhere
from tests.services import ROOT

pytestmark = pytest.mark.browser


@pytest.fixture
def page(person, checked):
    return person("requester").page


def tab_to(page, selector):
    """Press Tab until the element has the focus; the order of the page is the order of the form."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by Tab")


def test_an_order_is_placed_by_keyboard_alone(page):
    page.keyboard.press("n")
    page.wait_for_url("**/orders/new/")
    tab_to(page, "#id_test")
    page.keyboard.type("Isolate")
    tab_to(page, "#id_pasted")
    page.keyboard.insert_text(form.first_records(20))
    tab_to(page, "#check")
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict[data-state=ready]")
    for name in ("mrn", "family_name", "given_name"):
        tab_to(page, f"#id_{name}")
        page.keyboard.type(form.FIELDS[name])
    tab_to(page, "#id_birth_date")
    page.keyboard.type("03141961")
    tab_to(page, "#id_sex")
    page.keyboard.type("Fem")
    for name in ("specimen_identifier", "specimen_type"):
        tab_to(page, f"#id_{name}")
        page.keyboard.type(form.FIELDS[name])
    tab_to(page, "#id_collected_at")
    page.keyboard.type("01152026")
    page.keyboard.press("Tab")
    page.keyboard.type("0830A")
    tab_to(page, "[name=priority]")
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    tab_to(page, "#id_stat_reason")
    page.keyboard.type("suspected sepsis")
    tab_to(page, "#place")
    page.keyboard.press("Enter")
    page.wait_for_url("**/orders/*-*/")
    order = elsewhere(lambda: Order.objects.select_related("patient").get(priority="stat"))
    assert (order.stat_reason, order.patient.birth_date.isoformat()) == ("suspected sepsis", "1961-03-14")


def test_the_focus_is_always_seen(page):
    form.choose_test(page)
    for _ in range(25):
        page.keyboard.press("Tab")
        seen = page.evaluate("""() => {
          const box = document.activeElement.getBoundingClientRect();
          const top = document.elementFromPoint(box.x + box.width / 2, Math.min(box.y + box.height / 2, innerHeight - 1));
          return box.height > 0 && (document.activeElement.contains(top) || top.contains(document.activeElement));
        }""")
        assert seen, page.evaluate("document.activeElement.outerHTML")


def test_a_mistake_is_explained_by_line_and_can_be_mended(page):
    form.choose_test(page)
    text = form.WRONG_REF.read_text()
    wrong = text.splitlines()
    form.check(page, "\n".join([*(line for line in wrong if line.startswith("#")), wrong[7]]), state="refused")
    expect(page.locator("#verdict")).to_contain_text("REF is")
    expect(page.locator("#verdict table")).to_contain_text("vcf.ref-mismatch")
    page.locator("#id_pasted").press("End")
    page.keyboard.type(" ")
    expect(page.locator("#verdict")).to_contain_text("The input has changed since it was checked")
    form.check(page, form.first_records(20))
    expect(page.locator("#verdict")).to_contain_text("This input can be ordered.")


def test_a_chosen_file_is_checked_at_once_and_what_was_typed_stays(page):
    form.choose_test(page)
    page.fill("#id_family_name", "Okafor")
    page.set_input_files("#id_file", form.TWO_HUNDRED)
    page.wait_for_selector("#verdict[data-state=ready]")
    assert page.input_value("#id_family_name") == "Okafor"
    expect(page.locator("#announcements")).to_have_text("The input is checked: 200 accepted.")


def test_a_dropped_file_is_checked_like_a_chosen_one(page):
    form.choose_test(page)
    transfer = page.evaluate_handle(
        """text => { const data = new DataTransfer(); data.items.add(new File([text], "dropped.vcf")); return data; }""",
        form.first_records(20),
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
    page.wait_for_selector("#verdict[data-state=ready]")
    expect(page.locator("#verdict h3").first).to_contain_text("dropped.vcf")


def test_the_sample_is_chosen_beside_the_specimen_and_confirmed(page):
    form.choose_test(page, "Mitochondrial genome")
    page.set_input_files("#id_file", next((ROOT / "demo" / "rcrs").glob("*.vcf")))
    page.select_option("#id_sample", index=2)
    page.wait_for_selector("#verdict[data-state=ready]")
    form.fill(page)
    page.click("#place")
    expect(page.locator("#error-summary")).to_contain_text("Confirm the sample")
    page.check("#id_sample_confirmed")
    page.click("#place")
    page.wait_for_url("**/orders/*-*/")
    chosen = elsewhere(lambda: Order.objects.select_related("intake").latest("placed_at").intake)
    assert chosen.sample == chosen.samples[1]


def test_two_clicks_place_one_order(page):
    form.choose_test(page)
    form.check(page, form.first_records(20))
    form.fill(page)
    before = elsewhere(Order.objects.count)
    page.dblclick("#place")
    page.wait_for_url("**/orders/*-*/")
    assert elsewhere(Order.objects.count) == before + 1


def test_errors_lead_to_their_fields(page):
    form.choose_test(page)
    page.click("#place")
    expect(page.locator("#error-summary")).to_be_focused()
    page.click("#error-summary a[href='#id_mrn']")
    expect(page.locator("#id_mrn")).to_be_focused()
    assert page.get_attribute("#id_mrn", "aria-invalid") == "true"
    assert "id_mrn_error" in page.get_attribute("#id_mrn", "aria-describedby")


def test_the_reason_is_asked_for_when_it_is_stat(page):
    form.choose_test(page)
    expect(page.locator("#id_stat_reason")).to_be_hidden()
    page.check("#id_priority_0")
    expect(page.locator("#id_stat_reason")).to_be_visible()


def test_a_bad_file_of_every_kind_gets_its_verdict(page):
    for path in sorted((ROOT / "demo" / "bad").iterdir()):
        form.choose_test(page)
        page.set_input_files("#id_file", path)
        page.wait_for_selector("#verdict[data-state=refused], #verdict[data-state=ready]")
        assert page.locator("#verdict .problems li, #verdict .scroll tbody tr, #verdict ul li").count(), path.name


def test_the_form_works_without_a_script(person, page):
    plain = person("requester", java_script_enabled=False).page
    plain.goto("/orders/new/")
    plain.select_option("#id_test", label=form.TEST)
    plain.fill("#id_pasted", form.first_records(20))
    form.fill(plain)
    plain.click("#check")
    while plain.locator("#verdict[data-state=ready]").count() == 0:
        plain.click("#verdict button")
    plain.click("#place")
    plain.wait_for_url("**/orders/*-*/")
    assert elsewhere(lambda: Intake.objects.latest("created_at").order.patient.given_name) == "Ngozi"


def test_a_file_and_a_text_together_are_refused_until_one_is_gone(page):
    form.choose_test(page)
    form.check(page, form.first_records(20))
    page.set_input_files("#id_file", form.TWO_HUNDRED)
    for field in ("file", "pasted"):
        expect(page.locator(f"#id_{field}_error")).to_contain_text("Choose one: the file lexA_200.vcf or the pasted text.")
    assert page.locator("#verdict [name=intake]").count() == 0
    page.click("#no-file")
    expect(page.locator("#id_pasted_error")).to_be_hidden()
    page.click("#check")
    page.wait_for_selector("#verdict[data-state=ready]")
    expect(page.locator("#verdict h3").first).to_contain_text("pasted text")


def test_a_file_chosen_before_its_test_is_checked_when_the_test_is_chosen(page):
    page.goto("/orders/new/")
    page.set_input_files("#id_file", form.TWO_HUNDRED)
    expect(page.locator("#verdict")).to_contain_text("Choose the test")
    page.select_option("#id_test", label=form.TEST)
    page.wait_for_selector("#verdict[data-state=ready]")
    expect(page.locator("#verdict")).not_to_contain_text("Choose the test")


def test_a_late_answer_about_an_earlier_file_does_not_link_the_form_to_it_again(page):
    form.choose_test(page)
    form.check(page, form.first_records(20))
    address = f"/intakes/{page.input_value('#verdict [name=intake]')}/"
    page.fill("#id_pasted", form.first_records(10))
    with page.expect_response(f"**{address}"):
        page.evaluate("address => htmx.ajax('GET', address, {target: '#verdict', swap: 'outerHTML'})", address)
    expect(page.locator("#verdict")).to_contain_text("The input has changed since it was checked")
    assert page.locator("#verdict [name=intake]").count() == 0
