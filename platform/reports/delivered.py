"""What people read of deliveries: the list of an order, the one that is theirs, and those that failed."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Aggregate, Count, IntegerField, Model, OuterRef, Q, QuerySet, Subquery, Sum

from accounts.roles import Verb
from foundation.actor import Actor
from foundation.errors import NotFound
from orders.machines import IN_ERROR
from orders.models import Order
from reports import release
from reports.delivering import whose
from reports.delivery_models import Critical, CriticalCall, DeliveryNote, News, Recipient, ReportDelivery
from reports.recipients import known


@dataclass(frozen=True)
class Line:
    """One delivery as its order's page lists it."""

    delivery: ReportDelivery
    mine: bool  # it is for the person who reads the page
    unanswered_since: datetime | None  # a correction or recall that he has not acknowledged
    notes: list[DeliveryNote] = field(default_factory=list)

    @property
    def may_acknowledge(self) -> bool:
        """Whether the reader can say now that he has read it."""
        return self.mine and self.delivery.state == "opened"


@dataclass(frozen=True)
class Deliveries:
    """All of one order."""

    lines: list[Line]
    recipients: list[Recipient]  # of the next report
    waiting: int  # of those who must acknowledge, how many have not

    @property
    def mine(self) -> list[Line]:
        """What the reader can acknowledge."""
        return [line for line in self.lines if line.may_acknowledge]


def of_order(actor: Actor, order: Order) -> Deliveries:
    """Every delivery of an order that this actor may see, the last ones first."""
    rows = ReportDelivery.objects.filter(order=order).select_related(
        "recipient__provider", "report_version", "opened_by", "acknowledged_by"
    )
    found = list(rows.prefetch_related("notes__by").defer("report_version__content").order_by("-created_at", "recipient_id"))
    last: dict[int, UUID] = {}
    for one in found:
        last.setdefault(one.recipient_id, one.pk)
    lines = [Line(one, _is_for(actor, one.recipient), _unanswered(one, last), list(one.notes.all())) for one in found]
    return Deliveries(lines, known(order), sum(line.unanswered_since is not None for line in lines))


def one_for(actor: Actor, pk: UUID) -> ReportDelivery:
    """A delivery to this person, for its page. Raises `NotFound`: to anybody else it does not exist."""
    rows = ReportDelivery.objects.filter(whose(actor)).select_related("report_version__run__test_version", "order", "recipient")
    found = rows.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def readable(actor: Actor, delivery: ReportDelivery) -> bool:
    """Whether its recipient may read the version: what was issued and not recalled, through the one door for scores.

    A person needs his role in one of the two organisations still; people of another hospital, theirs there.
    """
    if delivery.recipient.hospital_id is None and not sees_order(actor, delivery):
        return False
    version = delivery.report_version
    issued = version.state in ("released", "superseded") and version.released_at is not None
    return issued and delivery.order.state != IN_ERROR and release.released_version(delivery.order) is not None


def sees_order(actor: Actor, delivery: ReportDelivery) -> bool:
    """Whether this recipient may open the order itself."""
    order = delivery.order
    return actor.may(Verb.VIEW_ORDER, order.ordering_organisation_id, order.performing_laboratory_id)


def last_to(actor: Actor, order: Order) -> ReportDelivery | None:
    """The last delivery of an order to this person. None: there is none."""
    mine = ReportDelivery.objects.filter(whose(actor), order=order).select_related("order", "recipient")
    found: ReportDelivery | None = mine.order_by("-created_at").first()
    return found


def to_acknowledge(actor: Actor, order: Order) -> ReportDelivery:
    """The same. Raises `NotFound`."""
    found = last_to(actor, order)
    if found is None:
        raise NotFound("No report of this order was delivered to you.")
    return found


def of_recipient_on(order: Order, pk: UUID) -> ReportDelivery:
    """One of an order's deliveries, for who sees to them. Raises `NotFound`."""
    found: ReportDelivery | None = ReportDelivery.objects.filter(order=order, pk=pk).select_related("order", "recipient").first()
    if found is None:
        raise NotFound
    return found


def failed(actor: Actor) -> list[ReportDelivery]:
    """Deliveries of his laboratories that failed and wait for a person, the oldest first."""
    rows: QuerySet[ReportDelivery] = ReportDelivery.objects.for_actor(actor, Verb.DELIVER).filter(state="failed")
    shown = rows.select_related("recipient", "report_version", "order__patient").defer("report_version__content")
    return list(shown.order_by("created_at"))


def stamp(order: Order) -> str:
    """Changes with every move of a delivery or a call of this order."""
    said = (
        _of(ReportDelivery, "order", Sum("version")),
        _of(Recipient, "order", Count("pk", filter=Q(ended_at=None))),
        _of(Critical, "order", Count("pk")),
        _of(CriticalCall, "critical__order", Count("pk")),
    )
    return ".".join(str(number or 0) for number in Order.objects.filter(pk=order.pk).values_list(*said)[0])


def _of(model: type[Model], path: str, said: Aggregate) -> Subquery:
    """One figure of the rows of an order."""
    rows = model._default_manager.filter(**{path: OuterRef("pk")}).order_by()
    return Subquery(rows.values(path).annotate(figure=said).values("figure"), output_field=IntegerField())


def _is_for(actor: Actor, recipient: Recipient) -> bool:
    """As `delivering.whose` asks the database."""
    users = {recipient.user_id, recipient.provider.user_id if recipient.provider else None} - {None}
    return actor.id in users or recipient.hospital_id in actor.organisations(Verb.VIEW_ORDER)


def _unanswered(one: ReportDelivery, last: dict[int, UUID]) -> datetime | None:
    """Since when a correction, the last word to its recipient, waits for him to say that he has read it."""
    asks = one.news in (News.CORRECTED, News.RECALLED) and last[one.recipient_id] == one.pk
    return one.created_at if asks and one.state != "acknowledged" else None
