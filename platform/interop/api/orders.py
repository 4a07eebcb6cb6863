"""Orders: placed, listed, read, followed."""

from typing import Any, Literal
from uuid import UUID

from django.http import HttpResponse
from ninja import Router
from ninja.params.functions import Query

from accounts.providers import providers_for
from accounts.roles import Verb
from accounts.sites import sites_for
from audit import reads
from foundation.actor import Actor
from foundation.errors import NotFound
from interop.api import cursors, filtering, shapes, shown
from interop.api.security import ApiRequest, Token
from interop.api.writing import KEY, done_once
from interop.idempotency import Done
from orders import duplicates, pages, selectors, services
from orders.downtimes.selectors import late_entry
from orders.errors import InvalidOrder
from orders.estimates import finishes
from orders.models import Order
from orders.requests import LateDetails, OrderRequest, PatientDetails, SpecimenDetails
from reports import release

router = Router(tags=["Orders"])
LIMIT: Any = Query(50, ge=1, le=200)
State = Literal[
    "submitted", "accepted", "in_analysis", "awaiting_review", "awaiting_second_review", "reported", "rejected", "cancelled",
    "entered_in_error",
]  # fmt: skip
LATE = ("downtime", "requested_at", "received_at", "taken_by", "condition", "late_reason", "late_words")
# where in a body the fields of `InvalidOrder` stand
POINTERS = {
    **{name: f"/patient/{name}" for name in ("mrn", "mrn_system", "family_name", "given_name", "birth_date", "sex")},
    **{f"specimen_{name}": f"/specimen/{name}" for name in ("identifier", "type", "source")},
    "collected_at": "/specimen/collected_at",
    "sample": "/sample_confirmed",
    "placer_number": "/placer/number",
    "placer_system": "/placer/system",
    "late": "/late_entry",
    **{name: f"/late_entry/{name.removeprefix('late_')}" for name in LATE},
}


@router.post("/orders", response={201: shapes.OrderShape}, auth=Token(Verb.PLACE), url_name="orders")
def place_order(request: ApiRequest, given: shapes.OrderGiven, idempotency_key: str | None = KEY) -> HttpResponse:
    """Place an order on a ready upload. The same content for the same upload or placer number is the same order."""
    actor = request.auth

    def work() -> Done:
        return order_done(actor, services.place(actor=actor, request=asked(actor, given)).pk, status=201)

    return done_once(request, idempotency_key, work, seen=lambda pk: selectors.order_for(actor, pk))


@router.get("/organisations", response=list[shapes.OrderingShape], auth=Token(Verb.PLACE))
def list_organisations(request: ApiRequest) -> list[shapes.OrderingShape]:
    """Organisations that orders can be placed for, with the providers and sites that an order may name."""
    providers, sites = providers_for(request.auth), sites_for(request.auth)
    return [shown.ordering(one, providers, sites) for one in selectors.ordering_organisations(request.auth)]


@router.get("/orders", response=shapes.OrderPage, auth=Token(Verb.VIEW_ORDER))
@cursors.named_alone
def list_orders(
    request: ApiRequest,
    state: State | None = None,
    priority: shapes.PriorityName | None = None,
    open: bool | None = None,
    held: bool | None = None,
    attention: bool | None = None,
    accession: shapes.Line80 | None = None,
    placer_system: shapes.Line120 | None = None,
    placer_number: shapes.Line80 | None = None,
    chip: shapes.Line80 | None = None,
    q: shapes.Line80 | None = None,
    test: shapes.Line80 | None = None,
    organisation: shapes.Line80 | None = None,
    site: shapes.Line80 | None = None,
    assignee: shapes.Line80 | None = None,
    placed_from: shapes.Line80 | None = None,
    placed_to: shapes.Line80 | None = None,
    due_from: shapes.Line80 | None = None,
    due_to: shapes.Line80 | None = None,
    after: str | None = shapes.AFTER,
    limit: int = LIMIT,
) -> shapes.OrderPage:
    """Orders in reach, the newest first. Filters are joined by *and*; from `chip` on, they are those of the worklist page."""
    wanted = pages.Wanted(state, priority, open, held, attention, accession, placer_system, placer_number)
    said = {"chip": chip, "q": q, "test": test, "organisation": organisation, "site": site, "assignee": assignee}
    said |= {"placed_from": placed_from, "placed_to": placed_to, "due_from": due_from, "due_to": due_to}
    filters = filtering.read(request.auth, said)
    rows = pages.newest(request.auth, wanted, filters, after=cursors.place(after) if after else None, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return shapes.OrderPage(
        orders=[shown.order_line(row) for row in rows[:limit]],
        next=cursors.cursor(last.placed_at.isoformat(), last.pk) if last else None,
    )


@router.get("/orders/{uuid:pk}", response=shapes.OrderShape, auth=Token(Verb.VIEW_ORDER))
def get_order(request: ApiRequest, response: HttpResponse, pk: UUID) -> shapes.OrderShape:
    """Where an order stands: state, progress, what starts before it, when it will be scored. Never a score."""
    order = selectors.order_for(request.auth, pk)
    reads.seen(actor=request.auth, action="order.viewed", obj=order, organisation_id=order.performing_laboratory_id)
    response["ETag"] = etag(order)
    return shape(request.auth, order)


@router.get("/orders/{uuid:pk}/events", response=shapes.EventList, auth=Token(Verb.VIEW_ORDER))
def list_events(request: ApiRequest, pk: UUID) -> shapes.EventList:
    """What happened to an order, oldest first."""
    return shown.events(selectors.timeline(selectors.order_for(request.auth, pk)))


def order_done(actor: Actor, pk: UUID, *, status: int = 200) -> Done:
    """The answer that tells an order as it stands in this transaction."""
    order = selectors.order_for(actor, pk)
    headers = {"ETag": etag(order), "Location": f"/api/v1/orders/{pk}"}
    return Done(status, shape(actor, order).model_dump_json(), order.ordering_organisation_id, order.pk, headers)


def shape(actor: Actor, order: Order) -> shapes.OrderShape:
    """An order with what can be said of its end, and which other orders it looks like."""
    alike = duplicates.noted(actor, order)
    linked = selectors.linked(actor, order)
    found: Any = {
        "released": release.released_version(order) is not None,
        "finish": finishes([order]).get(order.pk),
        "asked": selectors.hold_requests([order]).get(order.pk),
        "linked": linked,
        "late": late_entry(order),
    }
    return shown.order(order, alike, **found)


def etag(order: Order) -> str:
    """Changes with every decision of a person, and not while results come in."""
    return f'"{order.edits}"'


def asked(actor: Actor, given: shapes.OrderGiven) -> OrderRequest:
    """What a body asks for. Raises `InvalidOrder` where its upload does not exist."""
    try:
        intake = selectors.intake_for(actor, given.intake)
    except NotFound as error:
        raise InvalidOrder({"intake": ["This upload does not exist."]}) from error
    placer = given.placer or shapes.PlacerGiven(number="")
    return OrderRequest(
        intake_id=intake.pk,
        ordering_organisation_id=given.organisation or intake.ordering_organisation_id,
        patient=PatientDetails(**given.patient.model_dump()),
        specimen=SpecimenDetails(**given.specimen.model_dump()),
        priority=given.priority,
        stat_reason=given.stat_reason,
        indication=given.indication,
        sample_confirmed=given.sample_confirmed,
        placer_system=placer.system,
        placer_number=placer.number,
        provider_id=given.provider,
        site_id=given.site,
        performing_site_id=given.performing_site,
        repeats=given.repeats,
        late=LateDetails(**given.late_entry.model_dump()) if given.late_entry else None,
    )
