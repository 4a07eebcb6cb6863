"""The unsigned draft: made once, made anew when a fact has changed, never before scoring ends."""

import pytest

from audit.models import Event
from foundation.errors import Refused
from orders.models import Specimen
from reports import services
from reports.models import ReportVersion
from reports.services import Door
from tests.reports import cases

pytestmark = pytest.mark.django_db


def test_a_draft_is_version_one_unsigned_and_unreleased():
    version = cases.drafted(cases.scored_order())
    assert (version.number, version.kind, version.state, version.released_at) == (1, "unsigned", "draft", None)


def test_looking_twice_gives_the_same_draft_and_one_event():
    order = cases.scored_order()
    assert cases.drafted(order) == cases.drafted(order)
    assert Event.objects.filter(action="report.drafted").count() == 1


def test_a_changed_fact_discards_the_draft_and_the_next_number_says_it():
    order = cases.scored_order()
    first = cases.drafted(order)
    Specimen.objects.filter(pk=order.specimen_id).update(condition="haemolysed")
    second = cases.drafted(cases.read(order))
    first.refresh_from_db()
    assert (first.state, second.number) == ("discarded", 2)
    assert "Haemolysed" in second.content and "Haemolysed" not in first.content


def test_it_refuses_a_draft_before_the_run_is_scored():
    order = cases.scored_order(finished=False)
    with pytest.raises(Refused, match="not finished"):
        cases.drafted(order)
    assert not ReportVersion.objects.exists()


def test_before_the_end_of_scoring_the_door_says_so():
    order = cases.scored_order(finished=False)
    assert services.show(actor=cases.analyst(order), order=order).door is Door.NOT_SCORED


def test_an_order_beyond_one_document_is_said_to_be_so(monkeypatch):
    monkeypatch.setattr(services, "LARGEST", 9)
    order = cases.scored_order(variants=10)
    assert services.show(actor=cases.analyst(order), order=order).door is Door.TOO_LARGE
    with pytest.raises(services.TooLarge):
        cases.drafted(order)
