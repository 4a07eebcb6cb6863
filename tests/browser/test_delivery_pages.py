"""Recipients, deliveries and critical results under axe, wide and narrow; a call is kept and a report acknowledged by keyboard."""

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.roles import Role
from accounts.services import actor_for
from outbox import services as outbox
from reports import critical, recipients
from tests.browser.served import elsewhere
from tests.browser.test_signing import looked_at, scored
from tests.factories import make_organisation, make_provider
from tests.forging import forge
from tests.reports import cases, signers

pytestmark = pytest.mark.browser


def delivered():
    """A report that was corrected: for who placed it, and for a hospital that nobody here can reach; one result is critical."""
    order = scored()
    director = actor_for(User.objects.get(email__startswith="director@"))
    by = make_provider(order.ordering_organisation, "Dr Olga Ordering", phone="+49 30 5550 17", alternative="ward 3, 5550 18")
    clerk = User.objects.get(email__startswith="accessioner@")
    forge(order, placed_by=clerk, provider=by, provider_name=by.name, provider_contact=by.contact)
    order = cases.read(order)
    make_organisation("Clinic Far Away")
    recipients.add(order=order, actor=director, hospital="Clinic Far Away")
    lab = signers.laboratory_of(order)
    signers.issued(order, lab)
    correction = signers.corrected(order, lab)
    for role, which in ((Role.REVIEWER, "who corrects nothing"), (Role.DIRECTOR, "")):
        signers.sign(correction, lab.actor(role, which))
    while outbox.dispatch():
        pass
    critical.mark(order=cases.read(order), actor=director, reason="Truncates LexA: tell the ward at once.", ordinal=0)
    return order


def test_a_correction_is_acknowledged_a_critical_result_is_read_back_and_a_failed_delivery_is_told(person):
    order = elsewhere(delivered)
    here = f"/orders/{order.pk}"
    clerk = person("accessioner").page
    clerk.goto("/")
    looked_at(clerk, "worklist-critical")
    clerk.locator("#to-call a").first.press("Enter")
    looked_at(clerk, "order-critical")
    clerk.fill("#id_whom", "Dr Olga Ordering, ward 3")
    clerk.fill("#id_number", "+49 30 5550 17")
    clerk.select_option("#id_outcome", "read_back")
    clerk.fill("#id_read_back", "First result truncates LexA")
    clerk.get_by_role("button", name="Keep the call").press("Enter")
    expect(clerk.locator("p.good")).to_contain_text("it was read back")
    clerk.goto(f"{here}/recipients")
    looked_at(clerk, "order-recipients")
    clerk.locator("[id^=failed-]").first.get_by_role("button", name="Send again").press("Enter")
    expect(clerk.locator("p.good")).to_contain_text("It is sent to Clinic Far Away again")
    clerk.goto(f"{here}/report/")
    clerk.get_by_role("button", name="I have read this report").press("Enter")
    expect(clerk.locator("#deliveries")).to_contain_text("acknowledged")
    looked_at(clerk, "report-delivered")
