"""What people may read of orders. Every function takes the actor and returns nothing he may not see."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import Organisation, User
from accounts.roles import Verb
from audit.models import Event
from foundation import clock
from foundation.actor import Actor
from foundation.errors import NotFound
from orders.models import Demotion, HoldRequest, Intake, IntakeRecord, Order
from registry.models import TestDefinition, TestVersion


def offered_tests(actor: Actor) -> list[TestVersion]:
    """Test versions an order can be placed for, newest first; empty for someone who places none."""
    if not actor.organisations(Verb.PLACE):
        return []
    offered = TestVersion.objects.filter(offered=True).select_related(
        "definition__laboratory", "reference", "deployment__model_version"
    )
    return list(offered.order_by("definition__name", "-number"))


def ordering_organisations(actor: Actor) -> list[Organisation]:
    """The organisations this actor may order for."""
    return list(Organisation.objects.filter(pk__in=actor.organisations(Verb.PLACE)).order_by("name"))


def last_provider(actor: Actor) -> UUID | None:
    """Whom this person named as the provider of the last order he placed with one."""
    mine = Order.objects.for_actor(actor).filter(placed_by_id=actor.id, provider__isnull=False)
    found: UUID | None = mine.order_by("-placed_at").values_list("provider_id", flat=True).first()
    return found


def last_sites(actor: Actor) -> tuple[UUID, UUID] | None:
    """From where this person ordered last, and where that is performed; None for somebody who has not ordered."""
    mine = Order.objects.for_actor(actor).filter(placed_by_id=actor.id).order_by("-placed_at")
    found: tuple[UUID, UUID] | None = mine.values_list("ordering_site_id", "performing_site_id").first()
    return found


def listed_tests(actor: Actor) -> list[TestDefinition]:
    """The tests this person's list can be narrowed to: those of his laboratories, and those he can order."""
    reach, places = actor.organisations(Verb.VIEW_ORDER), bool(actor.organisations(Verb.PLACE))
    known = Q(laboratory__in=reach) | (Q(versions__offered=True) if places else Q(pk__in=[]))
    return list(TestDefinition.objects.filter(known).distinct().order_by("name", "code")) if reach else []


def listed_organisations(actor: Actor) -> list[Organisation]:
    """The organisations whose orders this person sees: his own, and those that order from his laboratories."""
    reach = actor.organisations(Verb.VIEW_ORDER)
    ordered = Order.objects.for_actor(actor).filter(performing_laboratory__in=reach, ordering_organisation=OuterRef("pk"))
    return list(Organisation.objects.filter(Q(pk__in=reach) | Exists(ordered)).order_by("name")) if reach else []


def intake_for(actor: Actor, pk: UUID) -> Intake:
    """An upload this actor may see. Raises `NotFound`: to a stranger it does not exist."""
    rows = Intake.objects.for_actor(actor).select_related(
        "test_version__definition", "test_version__reference", "test_version__deployment", "file"
    )
    found: Intake | None = rows.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def intake_preview(intake: Intake, *, limit: int = 20) -> list[IntakeRecord]:
    """The first accepted records, with their normalised form."""
    return list(intake.rows.filter(outcome="accepted").order_by("line", "alt_index")[:limit])


def intake_records(intake: Intake, *, outcome: str, after: tuple[int, int] | None, limit: int) -> list[IntakeRecord]:
    """Records behind a line and ALT, in the order of the file."""
    rows = intake.rows.filter(outcome=outcome) if outcome else intake.rows.all()
    if after is not None:
        line, alt = after
        rows = rows.filter(line__gte=line).filter(Q(line__gt=line) | Q(alt_index__gt=alt))
    return list(rows.order_by("line", "alt_index")[:limit])


def order_for(actor: Actor, pk: UUID) -> Order:
    """An order this actor may see, with all that its page shows. Raises `NotFound`: to a stranger it does not exist."""
    return _shown(_in_reach(actor), pk)


def order_to_read(actor: Actor, pk: UUID) -> Order:
    """The same for who wants its report: also an order whose patient he has open by break-glass."""
    return _shown(Order.objects.for_actor(actor, opened=True), pk)


def _shown(orders: QuerySet[Order], pk: UUID) -> Order:
    rows = orders.select_related(
        "patient__organisation",
        "specimen",
        "test_version__definition",
        "test_version__reference",
        "test_version__deployment__model_version",
        "ordering_organisation",
        "performing_laboratory",
        "ordering_site",
        "performing_site",
        "assignee",
        "intake__file",
        "placed_by",
        "provider",
        "specimen__received_by",
        "specimen__rejected_by",
    )
    found: Order | None = rows.prefetch_related("patient__identifiers").filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def orders_for(actor: Actor, pks: Iterable[UUID]) -> dict[UUID, Order]:
    """Those of these orders that this actor may see, by their ids."""
    rows = _in_reach(actor).filter(pk__in=list(pks)).select_related("patient", "test_version__definition")
    return {order.pk: order for order in rows.prefetch_related("patient__identifiers")}


@dataclass(frozen=True)
class Linked:
    """Orders that an order stands instead of, and those that came after it, as far as somebody may see them."""

    replaces: Order | None
    successor: Order | None  # replaces this one …
    given_up: list[Order]  # … and those that were to do so before, and ended before they were accepted
    repeats: Order | None
    repeated_by: list[Order]


def linked(actor: Actor, order: Order) -> Linked:
    """What this actor may see of the orders that an order is linked with."""
    before = [pk for pk in (order.replaces_id, order.repeats_id) if pk]
    either = _in_reach(actor).filter(Q(replaces=order.pk) | Q(repeats=order.pk) | Q(pk__in=before))
    shown = "accession replaces_id replaces_reason repeats_id state placer_system placer_number accepted_at specimen__state"
    found = list(either.select_related("specimen").only(*shown.split()).order_by("placed_at"))
    return Linked(
        replaces=next((one for one in found if one.pk == order.replaces_id), None),
        successor=next((one for one in found if one.replaces_id == order.pk and one.stands), None),
        given_up=[one for one in found if one.replaces_id == order.pk and not one.stands],
        repeats=next((one for one in found if one.pk == order.repeats_id), None),
        repeated_by=[one for one in found if one.repeats_id == order.pk],
    )


def may_follow(actor: Actor, pk: UUID) -> bool:
    """Whether this actor may see the order, without reading it."""
    return _in_reach(actor).filter(pk=pk).exists()


def timeline(order: Order) -> list[Event]:
    """What happened to an order, oldest first."""
    about = Q(object_type="orders.order", object_id=str(order.pk)) | Q(object_type="orders.intake", object_id=str(order.intake_id))
    return list(Event.objects.filter(about).exclude(action="order.viewed").order_by("id"))  # who looked is for auditors


def hold_requests(orders: Iterable[Order]) -> dict[UUID, HoldRequest]:
    """The requests to hold these orders that wait for a second person, by order."""
    return asked_for(HoldRequest.objects.filter(order__in=[order.pk for order in orders]))


def asked_for(requests: QuerySet[HoldRequest]) -> dict[UUID, HoldRequest]:
    """Those of the requests that wait for a second person, by order, the one that ends first before the others."""
    waiting = requests.filter(state="open", expires_at__gt=clock.now()).select_related("order", "asked_by")
    return {request.order_id: request for request in waiting.order_by("expires_at")}


def demotions_to_read(actor: Actor) -> list[Demotion]:
    """What others took from the urgency of open orders that this person placed, and he has not read: the oldest first."""
    return list(_unread(Demotion.objects.filter(requester_id=actor.id, order__ended_at=None, order__in=_in_reach(actor))))


def unread_demotions(order: Order) -> list[Demotion]:
    """What others took from the urgency of an open order, and its requester has not read: the oldest first."""
    if order.ended_at is not None or not order.priority_reason:  # closed, or nobody has changed its priority
        return []
    return list(_unread(Demotion.objects.filter(order=order)))


def _unread(demotions: QuerySet[Demotion]) -> QuerySet[Demotion]:
    return demotions.filter(read_at=None, undone_at=None).select_related("order", "by").order_by("id")


def names(people: Iterable[str]) -> dict[str, str]:
    """Who these people of a timeline are, by their ids."""
    return {str(pk): name for pk, name in User.objects.filter(pk__in=set(people)).values_list("pk", "name")}


def _in_reach(actor: Actor) -> QuerySet[Order]:
    rows: QuerySet[Order] = Order.objects.for_actor(actor)
    return rows
