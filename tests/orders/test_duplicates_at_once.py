"""Two windows place an order for the same patient and test at the same moment: one of the two people is told of the other's."""

from accounts.roles import Role
from orders import services
from orders.models import Order
from tests.factories import make_actor, make_ready_intake, make_request, make_test_version
from tests.orders.test_holding_at_once import at_once
from tests.reports.cases import patient


def test_of_two_who_place_at_once_one_is_told(clone_db: str, valkey_url: str) -> None:
    test = make_test_version()
    intakes = [make_ready_intake(test_version=test, variants=2) for _ in range(2)]
    actor = make_actor(role=Role.ANALYST, organisation=test.definition.laboratory)
    requests = [make_request(intake, patient=patient()) for intake in intakes]
    found = at_once([lambda one=one: services.place(actor=actor, request=one, told=frozenset()) for one in requests])  # type: ignore[misc]
    assert found == ["", "LooksDuplicate"] and Order.objects.count() == 1
