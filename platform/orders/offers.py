"""What may be read of a test version: by whoever can order it, works in its laboratory, or sees an order of it."""

from uuid import UUID

from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import NotFound
from orders.models import Order
from registry.models import TestVersion


def test_version_for(actor: Actor, pk: UUID) -> TestVersion:
    """One version. Raises `NotFound`: to anybody else it does not exist."""
    related = ("definition__laboratory", "reference", "annotation", "calibration", "deployment__model_version")
    found = TestVersion.objects.select_related(*related).filter(pk=pk).first()
    if found is None or not (_offered(actor, found) or _of_house(actor, found) or _ordered(actor, found)):
        raise NotFound
    return found


def versions(actor: Actor, test: TestVersion) -> list[TestVersion]:
    """All versions of the same test that this actor may read, the newest first."""
    rows = test.definition.versions.select_related("definition", "deployment__model_version").order_by("-number")
    house = _of_house(actor, test)
    seen = (
        set()
        if house
        else set(Order.objects.for_actor(actor).filter(test_version__in=rows).values_list("test_version_id", flat=True))
    )
    return [one for one in rows if house or one.pk in seen or _offered(actor, one)]


def _offered(actor: Actor, test: TestVersion) -> bool:
    return test.offered and bool(actor.organisations(Verb.PLACE))


def _of_house(actor: Actor, test: TestVersion) -> bool:
    laboratory = test.definition.laboratory_id
    return any(actor.may(verb, laboratory) for verb in (Verb.VIEW_ORDER, Verb.OFFER_TEST, Verb.REGISTER))


def _ordered(actor: Actor, test: TestVersion) -> bool:
    return Order.objects.for_actor(actor).filter(test_version=test).exists()
