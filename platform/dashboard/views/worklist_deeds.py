"""What is done from the worklist: deeds on chosen orders, saved filters, how names are shown, and the list as a file."""

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.middleware import ActorRequest
from dashboard import acting, filter_choices, saved_filters, short_names, worklist_csv
from dashboard.context import zone_of
from dashboard.views.responses import page
from foundation.errors import NotPermitted, Refused
from orders.errors import InvalidOrder


@require_POST
@page
def act(request: ActorRequest) -> HttpResponse:
    """Ask what has to be asked, do it, tell what became of each order; of one order, in a line above the list."""
    form, errors = acting.read(request.POST), []
    try:
        if form.at_once:
            outcomes = acting.act(request.actor, form, request.POST)
            if not form.single:
                return render(request, "dashboard/acted.html", acting.outcome(form, outcomes))
            messages.add_message(
                request, messages.SUCCESS if outcomes[0].done else messages.WARNING, acting.words(outcomes, form.deed)
            )
            return redirect(_back(form))
    except InvalidOrder as error:
        errors = acting.refusals(error)
    return _asked(request, form, errors)


def _back(form: acting.Form) -> str:
    """Where it was asked: the page of the order, or the list."""
    return reverse("order", args=[form.order_page]) if form.order_page else f"{reverse('worklist')}?{form.listed}"


def _asked(request: ActorRequest, form: acting.Form, errors: list[str]) -> HttpResponse:
    try:
        question = acting.question(request.actor, form, zone_of(request.user), request.POST, errors)
    except Refused as error:
        messages.warning(request, str(error))
        return redirect(_back(form))
    return render(request, "dashboard/act.html", question, status=409 if errors else 200)


@require_http_methods(["GET", "POST"])
@page
def filters(request: ActorRequest) -> HttpResponse:
    """The saved filters, and what is done to them."""
    error = ""
    if request.method == "POST":
        try:
            return redirect(f"{reverse('worklist')}?{_keep(request)}" if request.POST.get("do") == "save" else _change(request))
        except Refused as refused:
            error = str(refused)
    context = {"saved": saved_filters.kept(request.actor), "error": error}
    return render(request, "dashboard/saved_filters.html", context, status=409 if error else 200)


@require_POST
@page
def names(request: ActorRequest) -> HttpResponse:
    """Names as initials, or whole: this person's own setting."""
    short_names.show(request.user, short=request.POST.get("names") == "initials")
    return redirect(f"{reverse('worklist')}?{saved_filters.canonical(request.POST.get('list', ''))}")


def _keep(request: ActorRequest) -> str:
    data = request.POST
    flags = {"shared": bool(data.get("shared")), "opens": bool(data.get("opens"))}
    made = saved_filters.save(
        user=request.user, actor=request.actor, name=data.get("name", ""), query=data.get("query", ""), **flags
    )
    messages.success(request, f"The filter is kept as “{made.name}”.")
    return made.query


def _change(request: ActorRequest) -> str:
    data, actor = request.POST, request.actor
    pk = int(data["filter"]) if data.get("filter", "").isdecimal() and len(data["filter"]) < 18 else 0
    match data.get("do"):
        case "rename":
            saved_filters.rename(actor=actor, pk=pk, name=data.get("name", ""))
        case "delete":
            saved_filters.delete(actor=actor, pk=pk)
        case "open":
            saved_filters.open_with(actor=actor, pk=pk)
        case "close":
            saved_filters.open_with(actor=actor, pk=None)
        case _:
            raise Refused("The page asked for nothing that can be done.", code="filter.unknown-deed")
    return reverse("worklist-filters")


@require_safe
@page
def export(request: ActorRequest) -> HttpResponseBase:
    """The filtered list as CSV, sent while it is read."""
    zone = zone_of(request.user)
    asked = filter_choices.read(request.actor, request.GET, zone)
    try:
        worklist_csv.begin(request.actor, asked)
    except NotPermitted as error:
        return HttpResponse(str(error), status=403, content_type="text/plain; charset=utf-8")
    text = worklist_csv.streamed(worklist_csv.lines(request.actor, asked, zone))
    name = f'attachment; filename="{worklist_csv.filename(request.user)}"'
    return StreamingHttpResponse(text, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": name})
