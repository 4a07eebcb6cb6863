"""The OpenAPI document: what the routes say of themselves, and every problem each of them can answer with."""

from http import HTTPStatus
from typing import Any

from ninja.openapi.schema import OpenAPISchema

from interop.api.application import Api
from interop.api.shapes import ProblemShape
from interop.problems import MEDIA_TYPE

PREFIX = "api/v1/"
ALWAYS = (400, 401, 403, 404, 405, 406, 422, 429, 500, 503)
WRITING = (409, 413, 415)
STEERING = (412, 428)
SCORES = (409,)


def document(api: Api) -> dict[str, Any]:
    """The whole document."""
    made = OpenAPISchema(api, PREFIX)
    shape = ProblemShape.model_json_schema(ref_template="#/components/schemas/{model}")
    made["components"]["schemas"] |= {**shape.pop("$defs"), "Problem": shape}
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            _finish(path, method, operation)
    return made


def _finish(path: str, method: str, operation: dict[str, Any]) -> None:
    for parameter in operation["parameters"]:
        parameter["schema"] = _without_null(parameter["schema"])
    statuses = set(ALWAYS)
    if method == "post":
        statuses |= {*WRITING, *(STEERING if any(one["name"] == "If-Match" for one in operation["parameters"]) else ())}
    if any(part in path for part in ("/result", "/report")):
        statuses |= set(SCORES)
    for status in sorted(statuses):
        operation["responses"][status] = _problem(status)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or it is not: null can be written in no address."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    kept = {
        key: value for key, value in schema.items() if key not in ("anyOf", "default") or (key == "default" and value is not None)
    }
    return {**kept, **kinds[0]} if len(kinds) == 1 else schema


def _problem(status: int) -> dict[str, Any]:
    return {
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
