"""Repeat an order: a draft that is filled in from it, on the same stored file, checked again for the test as it is today."""

from collections.abc import Mapping
from uuid import UUID, uuid4

from accounts.roles import Verb
from casefile import drafts
from casefile.drafts import Save
from casefile.models import Draft
from dashboard import prefill
from dashboard.placing import Desk
from foundation.actor import Actor
from foundation.errors import NotFound, Refused
from orders import selectors, uploads
from orders.models import STANDING, Order

LEFT_OUT = frozenset({"stat_reason", "collected_fold"})  # why it cannot wait is said anew


class NotOffered(Refused):
    """The laboratory does not offer this test any more, so the order cannot be repeated."""


def may_repeat(actor: Actor, order: Order) -> bool:
    """Whether this person may place an order like this one."""
    return actor.may(Verb.PLACE, order.ordering_organisation_id)


def repeat(at: Desk, order: Order, data: Mapping[str, str]) -> Draft:
    """The draft; the specimen is left out unless the person says that it is the same. Raises `Refused` in words."""
    if order.specimen.state == "rejected":
        raise Refused("The specimen of this order was rejected: order again on a new one.", code="specimen.rejected")
    test = prefill.offered(order, at.tests)
    if test is None:
        raise NotOffered(code="order.test-not-offered")
    intake = uploads.check_again(actor=at.actor, intake=order.intake, test_version=test)
    specimen = frozenset[str]() if data.get("specimen") == "same" else prefill.SPECIMEN
    typed = prefill.of_order(order, tests=at.tests, without=LEFT_OUT | specimen) | {"repeats": str(order.pk)}
    typed |= _who_asks(at, order)
    wanted = Save(id=uuid4(), organisation_id=order.ordering_organisation_id, typed=typed, intake_id=intake.pk)
    return drafts.save(actor=at.actor, wanted=wanted)


def may_recollect(actor: Actor, order: Order) -> bool:
    """Whether this person may order again on a new specimen because the first one was rejected, and no order of that stands."""
    return order.specimen.state == "rejected" and may_repeat(actor, order) and not order.repeated_by.filter(STANDING).exists()


def recollect(at: Desk, order: Order) -> Draft:
    """The draft of an order on a new specimen, whose file does not exist yet. Raises `Refused` in words."""
    if order.specimen.state != "rejected":
        raise Refused("The specimen of this order was not rejected. Repeat the order instead.", code="specimen.not-rejected")
    if not may_repeat(at.actor, order):
        raise Refused("Your role does not include ordering for this organisation.", code="access.not-permitted")
    if prefill.offered(order, at.tests) is None:
        raise NotOffered(code="order.test-not-offered")
    without = prefill.SPECIMEN | {"collected_fold"}
    typed = prefill.of_order(order, tests=at.tests, without=without) | {"repeats": str(order.pk)}
    typed |= _who_asks(at, order)
    return drafts.save(actor=at.actor, wanted=Save(id=uuid4(), organisation_id=order.ordering_organisation_id, typed=typed))


def _who_asks(at: Desk, order: Order) -> dict[str, str]:
    """Its provider and site, as far as they can be chosen today."""
    provider = next((one.label for one in at.asking.providers if one.pk == order.provider_id), "")
    site = next((str(one.pk) for one in at.asking.choosable_sites if one.pk == order.ordering_site_id), "")
    performing = next((str(one.pk) for one in at.asking.choosable_performing if one.pk == order.performing_site_id), "")
    return {name: value for name, value in (("provider", provider), ("site", site), ("performing_site", performing)) if value}


def repeated(actor: Actor, said: str | None) -> Order | None:
    """The order that a form says it repeats; None for a new one, and for one that is not within reach."""
    try:
        return selectors.order_for(actor, UUID(said or ""))
    except (ValueError, NotFound):
        return None
