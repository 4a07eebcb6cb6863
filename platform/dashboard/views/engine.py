"""The engine page, for those who look after it."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.middleware import ActorRequest
from accounts.roles import Verb
from dashboard import engine_line, errand_rows, traces, waiting_parts
from dashboard.views.responses import page
from engine_queue.errors import QueueError
from foundation.errors import HelicaseError, NotFound
from orders.errors import InvalidOrder


@page
def engine(request: ActorRequest) -> HttpResponse:
    """Workers, deployments, what runs and waits, and what was asked of workers."""
    return _show(request, "dashboard/engine.html")


@page
def engine_live(request: ActorRequest) -> HttpResponse:
    """The part that is re-read every few seconds."""
    return _show(request, "dashboard/parts/engine_live.html")


@require_POST
@page
def engine_trace(request: ActorRequest) -> HttpResponseRedirect:
    """Ask a worker what it did in its last seconds."""
    try:
        messages.success(request, traces.ask(request.actor, request.POST))
    except HelicaseError as error:
        messages.warning(request, str(error)[:1].upper() + str(error)[1:])
    return redirect("engine")


@page
def engine_picture(request: ActorRequest, pk: int, ending: str) -> HttpResponse:
    """What it answered, as a picture or for Perfetto."""
    answer = HttpResponse(traces.picture(request.actor, pk, ending), content_type=traces.TYPES[ending])
    where = "inline" if ending == "svg" else "attachment"
    answer["Content-Disposition"] = f'{where}; filename="{traces.file_name(pk, ending)}"'
    return answer


@require_http_methods(["GET", "POST"])
@page
def engine_part(request: ActorRequest, pk: int) -> HttpResponse:
    """A part that waits for a person: what is wrong, and the form that lets it go on."""
    shown: dict[str, object] = {"part": waiting_parts.one(request.actor, pk)}
    if request.method == "GET":
        return render(request, "dashboard/waiting_part.html", shown)
    try:
        part = waiting_parts.resume(actor=request.actor, pk=pk, data=request.POST)
    except InvalidOrder as error:
        shown |= {"errors": error.fields["reason"], "reason": request.POST.get("reason", "")}
        return render(request, "dashboard/waiting_part.html", shown, status=409)
    except QueueError:  # it went on while this person wrote
        raise NotFound from None
    messages.success(request, f"Job {part.job} goes on: it waits for a worker again.")
    return redirect("engine")


def _show(request: ActorRequest, template: str) -> HttpResponse:
    if not request.actor.organisations(Verb.VIEW_ENGINE):
        raise PermissionDenied
    seen = engine_line.overview()
    shown = {
        "engine": seen,
        "errands": errand_rows.rows(request.actor),
        "risks": engine_line.risks(),
        "parts": waiting_parts.rows(request.actor),
    }
    asked = traces.traceable(request.actor, [deployment.name for deployment in seen.deployments if deployment.workers])
    return render(request, template, shown | {"traceable": asked, "trace_seconds": traces.SECONDS})
