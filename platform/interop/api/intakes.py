"""Tests that can be ordered, uploads, and the verdict on them."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.utils.http import parse_header_parameters
from ninja import Router
from ninja.params.functions import Query

from accounts.roles import Verb
from accounts.services import require
from accounts.sites import open_sites
from foundation.actor import Actor
from foundation.reasons import Reason
from interop.api import cursors, shapes, shown
from interop.api.security import ApiRequest, Token
from interop.api.writing import KEY, done_once
from interop.idempotency import Done
from interop.problems import ApiError, Fault
from orders import selectors, uploads
from orders.models import Intake
from registry.models import TestVersion
from storage import services as storage

router = Router(tags=["Uploads"])
LIMIT: Any = Query(100, ge=1, le=500)
MULTIPART = "multipart/form-data"
RAW = ("application/octet-stream", "text/plain", "application/gzip", "application/x-gzip")
KINDS = ("", MULTIPART, *RAW)  # without a type, it is the file
CHUNK = 64 * 1024
Outcome = Literal["accepted", "parked", "refused", "not_carried", "no_call"]
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FORM = {
    "schema": {
        "type": "object",
        "properties": {"file": {"type": "string", "format": "binary"}, "sample": {"type": "string", "maxLength": 255}},
        "required": ["file"],
    }
}
_BODY = {"requestBody": {"required": True, "content": {**dict.fromkeys(RAW, _BINARY), MULTIPART: _FORM}}}


@router.get("/tests", response=list[shapes.TestShape], auth=Token(Verb.PLACE))
def list_tests(request: ApiRequest) -> list[shapes.TestShape]:
    """Tests that an order can be placed for."""
    versions = selectors.offered_tests(request.auth)
    sites = open_sites(version.definition.laboratory_id for version in versions)
    return [shown.test(version, sites) for version in versions]


@router.post("/intakes", response={201: shapes.IntakeShape}, auth=Token(Verb.PLACE), url_name="intakes", openapi_extra=_BODY)
@cursors.named_alone
def create_intake(
    request: ApiRequest, test: UUID, organisation: UUID | None = None, idempotency_key: str | None = KEY
) -> HttpResponse:
    """Send a file: VCF, FASTA or FASTQ, plain, gzip or bgzip, as the whole body or as `file` of a form.

    The answer comes when it is stored. Its check goes on by itself: ask for the upload until it is `ready` or `refused`.
    """
    actor = request.auth
    version, ordering = _offered(actor, test), _ordering(actor, organisation)
    chunks, name, sample = _incoming(request)
    written = storage.write(chunks=chunks, limit=settings.UPLOAD_LIMIT)

    def work() -> Done:
        made = uploads.take_in(
            actor=actor, test_version=version, ordering_organisation_id=ordering, written=written, filename=name, sample=sample
        )
        return _done(actor, made)

    said = f"{written.sha256} {name} {sample}"
    return done_once(request, idempotency_key, work, seen=lambda pk: selectors.intake_for(actor, pk), body=said)


@router.get("/intakes/{uuid:pk}", response=shapes.IntakeShape, auth=Token(Verb.VIEW_ORDER), url_name="intake")
def get_intake(request: ApiRequest, pk: UUID) -> shapes.IntakeShape:
    """An upload and its verdict: how many records were accepted, parked or refused, and what is wrong with the file."""
    return shown.intake(selectors.intake_for(request.auth, pk))


@router.get("/intakes/{uuid:pk}/records", response=shapes.RecordPage, auth=Token(Verb.VIEW_ORDER))
@cursors.named_alone
def list_records(
    request: ApiRequest,
    pk: UUID,
    outcome: Outcome | None = None,
    after: str | None = shapes.AFTER,
    limit: int = LIMIT,
) -> shapes.RecordPage:
    """The verdict on each record, in the order of the file."""
    intake = selectors.intake_for(request.auth, pk)
    behind = _place(after) if after else None
    rows = selectors.intake_records(intake, outcome=outcome or "", after=behind, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return shapes.RecordPage(
        records=[shapes.RecordShape.from_orm(row) for row in rows[:limit]],
        next=cursors.cursor(last.line, last.alt_index) if last else None,
    )


@router.post("/intakes/{uuid:pk}/sample", response={201: shapes.IntakeShape}, auth=Token(Verb.PLACE))
def choose_sample(request: ApiRequest, pk: UUID, given: shapes.SampleGiven, idempotency_key: str | None = KEY) -> HttpResponse:
    """Choose the sample of a file that holds several: the same file is checked again for it, as a new upload."""
    actor = request.auth
    intake = selectors.intake_for(actor, pk)

    def work() -> Done:
        return _done(actor, uploads.choose_sample(actor=actor, intake=intake, sample=given.sample))

    return done_once(request, idempotency_key, work, seen=lambda made: selectors.intake_for(actor, made))


def _done(actor: Actor, made: Intake) -> Done:
    body = shown.intake(selectors.intake_for(actor, made.pk)).model_dump_json()
    return Done(201, body, made.ordering_organisation_id, made.pk, {"Location": f"/api/v1/intakes/{made.pk}"})


def _offered(actor: Actor, pk: UUID) -> TestVersion:
    found = next((version for version in selectors.offered_tests(actor) if version.pk == pk), None)
    if found is None:
        raise cursors.bad_parameter("test", "is no test that can be ordered: GET /api/v1/tests lists them")
    return found


def _ordering(actor: Actor, organisation: UUID | None) -> UUID:
    if organisation is not None:
        require(actor, Verb.PLACE, organisation)
        return organisation
    mine = actor.organisations(Verb.PLACE)
    if len(mine) != 1:
        raise cursors.bad_parameter("organisation", "is needed, since this token may place orders for several")
    return next(iter(mine))


def _incoming(request: ApiRequest) -> tuple[Iterable[bytes], str, str]:
    """The bytes, the name and the sample of what was sent."""
    if request.content_type != MULTIPART:
        _, said = parse_header_parameters(request.headers.get("Content-Disposition", ""))
        return _stream(request), _printable(said.get("filename", "")) or "upload", ""
    sent = request.FILES.get("file")
    if sent is None:
        raise ApiError(422, Reason.API_INVALID, errors=[Fault("is missing", pointer="/file")])
    sample = str(request.POST.get("sample", ""))
    if _printable(sample) != sample:
        raise ApiError(422, Reason.API_INVALID, errors=[Fault("holds control characters, or too many", pointer="/sample")])
    return sent.chunks(CHUNK), _printable(sent.name or "") or "upload", sample


def _printable(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable())[:255]


def _stream(request: ApiRequest) -> Iterator[bytes]:
    while chunk := request.read(CHUNK):
        yield chunk


def _place(after: str) -> tuple[int, int]:
    line, alt = cursors.read_cursor(after, 2)
    if not (line.isdecimal() and alt.isdecimal() and len(line) < 10 and len(alt) < 10):
        raise cursors.bad_parameter("after", "is no cursor that this list has given")
    return int(line), int(alt)
