"""What answers each FHIR address: read, ask one service or selector, say it as FHIR says it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from audit import reads
from foundation.actor import Actor
from foundation.errors import NotFound
from foundation.reasons import Reason
from interop.fhir import answering, capability, finding, ordering, parameters, received, reported, shown
from interop.fhir.asking import Asked, asked
from interop.fhir.gate import given, require_json
from interop.fhir.outcomes import FhirError, Issue, resource
from interop.fhir.reading import read
from interop.fhir.shown import Resource
from interop.models import FhirOrder
from orders import patients
from orders.errors import InvalidOrder
from orders.models import Order

Told = Callable[[finding.Row, datetime], Resource | None]


def metadata(request: HttpRequest, actor: Actor) -> HttpResponse:
    """What is served here: for everybody, since it holds no data."""
    return given(capability.statement(base(request)))


def take_bundle(request: HttpRequest, actor: Actor) -> HttpResponse:
    """POST of a transaction: an order with patient, specimen and file."""
    require_json(request)
    said = read(request.body, {"Bundle": received.Bundle}, lenient=parameters.handled(request, "lenient"))
    wanted = asked(said, actor)
    taken = _taken(actor, wanted, _unless_exists(said.resource))
    return given(answering.transaction(said.resource, taken, wanted, told=_request(actor, taken)))


def take_request(request: HttpRequest, actor: Actor) -> HttpResponse:
    """POST of an order alone."""
    require_json(request)
    models = {"ServiceRequest": received.ServiceRequest}
    wanted = asked(read(request.body, models, lenient=parameters.handled(request, "lenient")), actor)
    taken = _taken(actor, wanted, request.headers.get("If-None-Exist"))
    told = _request(actor, taken)
    headers = {"Location": f"{base(request)}/ServiceRequest/{told['id']}"}
    answer = given(told, status=201 if taken.created else 200, headers=headers)
    kind = parameters.preferred(request, "return")
    if kind == "minimal":
        answer.content = b""
    elif kind == "OperationOutcome":
        answer.content = given(resource(answering.issues(taken, wanted))).content
    return answer


def one(kind: str) -> Callable[..., HttpResponse]:
    """GET of a resource that tells of an order."""

    def view(request: HttpRequest, actor: Actor, pk: UUID) -> HttpResponse:
        row = finding.one(actor, pk)
        reads.seen(actor=actor, action="order.viewed", obj=row, organisation_id=row.performing_laboratory_id)
        told = TOLD[kind](row, finding.changed([row])[row.pk])
        if told is None:
            raise NotFound
        if kind == "DiagnosticReport":
            reported.read(actor, cast(Order, row))
        return given(told)

    return view


def search(kind: str) -> Callable[..., HttpResponse]:
    """GET of a searchset of such resources."""

    def view(request: HttpRequest, actor: Actor) -> HttpResponse:
        wanted = parameters.read(request, kind)
        reports = kind == "DiagnosticReport"
        page = finding.search(actor, wanted.wanted, orders_only=reports, after=wanted.after, limit=wanted.limit)
        changed = finding.changed(page.rows)
        found = [told for row in page.rows if (told := TOLD[kind](row, changed[row.pk])) is not None]
        for row in page.rows if reports else ():
            reported.read(actor, cast(Order, row))
        return given(answering.searchset(f"{base(request)}/{kind}", wanted, page, found))

    return view


def patient(request: HttpRequest, actor: Actor, pk: UUID) -> HttpResponse:
    """GET of a patient whom an order of the reader is for."""
    row, since = finding.patient(actor, pk)
    patients.looked(actor=actor, patient=row)
    return given(shown.patient(row), headers={"Last-Modified": answering.http_date(since)})


def specimen(request: HttpRequest, actor: Actor, pk: UUID) -> HttpResponse:
    """GET of a specimen that an order of the reader is on."""
    row, said, since = finding.specimen(actor, pk)
    return given(shown.specimen(row, said), headers={"Last-Modified": answering.http_date(since)})


def nothing(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Any other address."""
    raise NotFound


def base(request: HttpRequest) -> str:
    """Where FHIR is served, as the sender reached it."""
    return request.build_absolute_uri("/fhir")


def _taken(actor: Actor, wanted: Asked, unless: str | None) -> ordering.Taken:
    try:
        return ordering.take(actor=actor, asked=wanted, unless_exists=_is_own(wanted, unless))
    except InvalidOrder as error:
        said = [(wanted.expression(name), words) for name, all_words in error.fields.items() for words in all_words]
        code = error.code or str(Reason.ORDER_INVALID)
        raise FhirError(422, [Issue("business-rule", code, words, where) for where, words in said]) from error


def _is_own(wanted: Asked, unless: str | None) -> bool:
    """Whether a conditional create names the number of the order itself: no other condition is understood. Raises `FhirError`."""
    if unless is None:
        return False
    number = f"{wanted.request.placer_system}|{wanted.request.placer_number}"
    name, _, value = unless.partition("=")
    if name != "identifier" or answering.unquoted(value) != number:
        raise FhirError(412, [Issue("not-supported", str(Reason.FHIR_CONDITION), Reason.FHIR_CONDITION.say(number=number))])
    return True


def _unless_exists(bundle: Any) -> str | None:
    """The condition of the order's entry; patients are matched by their number anyway, so theirs changes nothing."""
    found = [entry.request.ifNoneExist for entry in bundle.entry if isinstance(entry.resource, received.ServiceRequest)]
    condition: str | None = found[0]
    return condition


def _request(actor: Actor, taken: ordering.Taken) -> Resource:
    """The order as it now stands; what has just been committed can be read by who sent it."""
    found = taken.order or taken.asked
    row = finding.one(actor, cast(Order | FhirOrder, found).pk)
    return _service_request(row, finding.changed([row])[row.pk])


def _service_request(row: finding.Row, changed: datetime) -> Resource:
    if isinstance(row, FhirOrder):
        return shown.service_request_asked(row)
    return shown.service_request(row, finding.asked_for(row), changed, replaced=finding.replaced(row))


def _task(row: finding.Row, changed: datetime) -> Resource:
    return shown.task_asked(row) if isinstance(row, FhirOrder) else shown.task(row, changed)


def _report(row: finding.Row, changed: datetime) -> Resource | None:
    return None if isinstance(row, FhirOrder) else reported.report(row, changed)


TOLD: dict[str, Told] = {"ServiceRequest": _service_request, "Task": _task, "DiagnosticReport": _report}
