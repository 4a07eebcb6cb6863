"""What an engine did in its last seconds: asked for on the engine page, seen there as a picture, or taken to Perfetto."""

from collections.abc import Iterable, Mapping

from accounts.roles import Verb
from engine_queue import errands, host, selectors
from foundation.actor import Actor
from foundation.errors import NotFound

SECONDS = 10.0  # of the past
TYPES = {"svg": "image/svg+xml", "json": "application/json"}


def ask(actor: Actor, data: Mapping[str, str]) -> str:
    """Ask the worker that the form names; the words that say so. Raises `ErrandRefused` or `NotPermitted`."""
    worker, deployment = data.get("worker", ""), data.get("deployment", "")
    errand = errands.ask(worker=worker, verb="trace", deployment=deployment, actor=actor, trace_seconds=SECONDS)
    asked = f"Worker {errand.worker} is asked what it did in its last {SECONDS:g} s."
    return f"{asked} The picture stands below as soon as it has answered."


def traceable(actor: Actor, deployments: Iterable[str]) -> list[str]:
    """Those of these deployments that this person may ask about."""
    return [deployment for deployment in deployments if errands.may_look(actor, deployment)]


def picture(actor: Actor, pk: int, ending: str) -> str:
    """A trace that is still kept: SVG, or JSON for Perfetto. Raises `NotFound`."""
    kept = selectors.errands(actor.organisations(Verb.VIEW_ENGINE)).filter(verb="trace", state="done", trace__isnull=False)
    errand = kept.filter(pk=pk).first()
    if errand is None or errand.trace is None:
        raise NotFound("This trace is not kept: of each worker the newest are.")
    title = f"{errand.deployment_id} on worker {errand.worker}"
    return host.pictures(bytes(errand.trace), errand.trace_seconds, title)["." + ending]


def file_name(pk: int, ending: str) -> str:
    """For whoever saves it."""
    return f"helicase-trace-{pk}.{ending}"
