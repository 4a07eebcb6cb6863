"""What stands around a report on its page: other versions, who got it, who was called; and what of that an outsider sees."""

from accounts.roles import Verb
from foundation.actor import Actor
from orders import emergency
from orders.machines import IN_ERROR
from orders.models import Order
from reports import critical, delivered, document, services
from reports.models import ReportDelivery


def report(actor: Actor, order: Order) -> dict[str, object]:
    """Of somebody who sees the order; who opened it by break-glass sees the report and its versions alone."""
    opened, versions = emergency.by(actor, order), services.versions(actor, order)
    if opened is not None:
        return {"versions": versions, "opened": opened}
    return {
        "versions": versions,
        "deliveries": delivered.of_order(actor, order),
        "criticals": critical.of_order(order),
        "may_deliver": actor.may(Verb.DELIVER, order.ordering_organisation_id, order.performing_laboratory_id),
    }


def delivered_to(delivery: ReportDelivery) -> dict[str, object]:
    """Of somebody to whom the report was delivered and who does not see the order."""
    version = delivery.report_version
    return {
        "order": delivery.order, "version": version, "document": document.compose(version), "outside": True, "delivery": delivery,
    }  # fmt: skip


def no_report(actor: Actor, order: Order, delivery: ReportDelivery | None) -> dict[str, object]:
    """Where there is no report to read: whether he sees the order, and what he can say he has read."""
    outside = not actor.may(Verb.VIEW_ORDER, order.ordering_organisation_id, order.performing_laboratory_id)
    told = delivery
    if told is None and order.state in (IN_ERROR, "cancelled") and not outside:
        told = delivered.last_to(actor, order)
    return {"outside": outside, "may_acknowledge": told is not None and told.state == "opened", "delivery": told}
