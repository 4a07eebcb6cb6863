"""From the bytes of a body to checked resources; every objection with where it stands."""

import json
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from foundation.reasons import Reason
from interop import json_text
from interop.fhir.elements import Element
from interop.fhir.outcomes import FhirError, Issue, refused

R = TypeVar("R", bound=Element)
_NEVER = frozenset({"modifierExtension", "implicitRules"})  # may turn the meaning of all that stands beside them
_DEEPEST = 50
_REQUIRED = {"missing", "too_short"}
_UNKNOWN_CODE = {"literal_error"}
MOST = 50  # issues told at once


@dataclass(frozen=True)
class Read:
    """A body that can be taken: as it came, as we understand it, and what of it was left out because the sender allowed it."""

    raw: dict[str, Any]
    resource: Element
    left_out: list[Issue] = field(default_factory=list)


def read(body: bytes, models: Mapping[str, type[Element]], *, lenient: bool) -> Read:
    """Raises `FhirError`: 400 for what is no JSON object of a resource that is taken here, 422 with every other objection."""
    raw = _json(body)
    kind = raw.get("resourceType")
    model = models.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise refused(Reason.FHIR_RESOURCE, "resourceType", type="value", status=400, wanted=" or ".join(models))
    empty = list(_empty(raw, str(kind)))
    if empty:
        raise FhirError(422, empty[:MOST])
    left_out = list(_left_out(raw, model, str(kind))) if lenient else []
    try:
        return Read(raw, model.model_validate(raw), left_out)
    except ValidationError as error:
        raise FhirError(422, _issues(error, raw)[:MOST]) from error


def _json(body: bytes) -> dict[str, Any]:
    try:
        raw = json_text.read(body)
        deep = _depth(raw) > _DEEPEST
    except (ValueError, RecursionError):
        raw, deep = None, False
    if not isinstance(raw, dict) or deep:
        raise refused(Reason.API_MALFORMED, "", type="structure", status=400, detail="its body is no JSON object")
    return raw


def _depth(part: Any) -> int:
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _empty(part: Any, path: str) -> typing.Iterator[Issue]:
    """FHIR has no null, and nothing empty."""
    if part is None or (isinstance(part, str | list | dict) and not part):
        yield Issue("value", str(Reason.FHIR_EMPTY), Reason.FHIR_EMPTY.words, path)
    for name, inner in _inside(part):
        yield from _empty(inner, f"{path}{name}")


def _inside(part: Any) -> list[tuple[str, Any]]:
    if isinstance(part, dict):
        return [(f".{_name(name)}", inner) for name, inner in part.items()]
    return [(f"[{place}]", inner) for place, inner in enumerate(part)] if isinstance(part, list) else []


def _name(name: str) -> str:
    """As FHIRPath writes it: what is no plain identifier stands between back quotes."""
    return name if name.isascii() and name.isidentifier() else f"`{json.dumps(name)[1:-1][:80]}`"


def _left_out(part: Any, model: Any, path: str) -> typing.Iterator[Issue]:
    """Take out of `part` what R4 knows and we do not carry, and say so."""
    if isinstance(part, list):
        for place, inner in enumerate(part):
            yield from _left_out(inner, model, f"{path}[{place}]")
        return
    if not isinstance(part, dict):
        return
    found = _model_of(model, part)
    if found is None:
        return
    for name in [name for name in part if name.lstrip("_") in found.left and name not in found.model_fields and name not in _NEVER]:
        del part[name]
        said = Reason.FHIR_LEFT_OUT.say(element=name)
        yield Issue("not-supported", str(Reason.FHIR_LEFT_OUT), said, f"{path}.{_name(name)}", "warning")
    for name, inner in part.items():
        if name in found.model_fields:
            yield from _left_out(inner, found.model_fields[name].annotation, f"{path}.{name}")


def _model_of(annotation: Any, part: dict[str, Any]) -> type[Element] | None:
    """The model behind an annotation; of several, the one whose `resourceType` stands in the part."""
    if isinstance(annotation, type) and issubclass(annotation, Element):
        kind = annotation.model_fields.get("resourceType")
        return annotation if kind is None or part.get("resourceType") in typing.get_args(kind.annotation) else None
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return None
    found = (_model_of(inner, part) for inner in typing.get_args(annotation))
    return next((model for model in found if model is not None), None)


def _issues(error: ValidationError, raw: dict[str, Any]) -> list[Issue]:
    return [_issue(said["type"], expression(raw, said["loc"]), said["msg"]) for said in error.errors(include_url=False)]


def _issue(kind: str, where: str, words: str) -> Issue:
    words = words.removeprefix("Value error, ")
    if kind in _REQUIRED:
        return Issue("required", str(Reason.FHIR_REQUIRED), Reason.FHIR_REQUIRED.words, where)
    if kind in _UNKNOWN_CODE:
        return Issue("code-invalid", str(Reason.FHIR_CODE), Reason.FHIR_CODE.say(detail=words), where)
    if kind == "extra_forbidden":
        return Issue("not-supported", str(Reason.FHIR_NOT_CARRIED), Reason.FHIR_NOT_CARRIED.words, where)
    return Issue("value", str(Reason.FHIR_VALUE), Reason.FHIR_VALUE.say(detail=words), where)


def expression(raw: Mapping[str, Any], place: Sequence[Any]) -> str:
    """FHIRPath to a place in what was sent. Names of alternatives, which stand in our places and in no body, are passed over."""
    path, here = str(raw.get("resourceType", "")), typing.cast(Any, raw)
    for step in place:
        if isinstance(step, int):
            path, here = f"{path}[{step}]", here[step] if isinstance(here, list) and step < len(here) else None
        elif isinstance(here, dict) and here.get("resourceType") == step and step not in here:
            continue
        else:
            path, here = f"{path}.{_name(str(step))}", here.get(step) if isinstance(here, dict) else None
    return path


def dumped(model: BaseModel) -> dict[str, Any]:
    """A resource as it is kept: what is there, and nothing empty."""
    return model.model_dump(mode="json", exclude_defaults=True)
