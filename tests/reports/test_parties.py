"""The performing site and the ordering provider on the report: 42 CFR 493.1291(c)(2), and whom to call."""

import pytest

from accounts.models import Site
from accounts.roles import Role
from reports import document, services
from tests.factories import make_actor, make_provider, make_ready_intake
from tests.reports import cases

pytestmark = pytest.mark.django_db


def drafted(order):
    actor = make_actor(role=Role.ANALYST, organisation=order.performing_laboratory)
    return document.compose(services.show(actor=actor, order=order).version)


def test_the_report_carries_address_telephone_and_zone_of_the_site_that_performed_the_test():
    order = cases.scored_order()
    site = {"name": "North campus", "address": "7 Hill Road\nHilltown", "phone": "+49 30 1", "time_zone": "Asia/Tokyo"}
    Site.objects.filter(pk=order.performing_site_id).update(**site)
    said = drafted(order)
    assert said.laboratory[0] == f"{order.performing_laboratory.name} · North campus"
    assert said.laboratory[1] == "7 Hill Road, Hilltown" and "+49 30 1" in said.laboratory[2]
    assert all("JST" in fact.value for group in said.groups for fact in group.facts if fact.label in ("Collected", "Scored"))


def test_the_report_names_the_provider_as_he_was_when_the_order_was_placed():
    intake = make_ready_intake()
    provider = make_provider(intake.ordering_organisation, "Dr Rita", phone="+00 1", alternative="ward 4")
    order = cases.scored_order(intake=intake, provider_id=provider.pk)
    type(provider).objects.filter(pk=provider.pk).update(name="Dr Other")
    facts = {fact.label: fact.value for group in drafted(order).groups for fact in group.facts}
    assert (facts["Provider"], facts["Critical results to"]) == ("Dr Rita", "+00 1; otherwise ward 4")
