"""Questions: the list, the form, one question with its answer, its files."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.middleware import ActorRequest
from dashboard import question_form, questions_page, reading
from dashboard.context import zone_of
from dashboard.views.responses import page
from foundation.errors import Refused
from questions import services
from questions.selectors import question_for


@page
def questions(request: ActorRequest) -> HttpResponse:
    """One's own questions, or all of the laboratory's."""
    return render(request, "dashboard/questions.html", questions_page.listed(request.actor, request.GET.dict()))


@require_http_methods(["GET", "POST"])
@page
def question_new(request: ActorRequest) -> HttpResponse:
    """The form; the question is asked when it is sent."""
    desk = question_form.desk(request.actor)
    if request.method == "GET":
        return render(request, "dashboard/question_new.html", question_form.opened(desk, request.GET.dict()))
    shown, asked = question_form.submitted(desk, request.POST.dict())
    if asked is not None:
        return redirect("question", pk=asked.pk)
    return render(request, "dashboard/question_new.html", shown, status=409 if shown["known"] else 422)


@require_POST
@page
def question_check(request: ActorRequest) -> HttpResponse:
    """What is typed, counted, and when it would be answered: for the form, beside the text."""
    shown = question_form.counted_live(question_form.desk(request.actor), request.POST.dict())
    return render(request, "dashboard/parts/question_check.html", shown)


@page
def question(request: ActorRequest, pk: UUID) -> HttpResponse:
    """One question with its answer, as far as it is there."""
    found = question_for(request.actor, pk)
    reading.question(request.actor, found)
    shown = questions_page.shown(request.actor, found, request.GET.dict(), zone_of(request.user))
    return render(request, "dashboard/question.html", shown)


@page
def question_live(request: ActorRequest, pk: UUID) -> HttpResponse:
    """What changes of it while it is answered."""
    found = question_for(request.actor, pk)
    shown = questions_page.shown(request.actor, found, request.GET.dict(), zone_of(request.user))
    if shown["answers"]:
        reading.question(request.actor, found)
    return render(request, "dashboard/parts/question_live.html", shown)


@require_POST
@page
def question_cancel(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Stop it."""
    found = question_for(request.actor, pk)
    try:
        services.cancel(actor=request.actor, question=found)
    except Refused as error:
        told = {"question": found, "what": "It is not cancelled.", "words": str(error)}
        return render(request, "dashboard/question_refused.html", told, status=409)
    messages.success(request, f"{found.short} is cancelled.")
    return redirect("question", pk=pk)


@page
def question_file(request: ActorRequest, pk: UUID, name: str) -> HttpResponse:
    """Its answer as a file."""
    found = question_for(request.actor, pk)
    try:
        taken = questions_page.taken(request.actor, found, name)
    except Refused as error:
        told = {"question": found, "what": "There is no such file yet.", "words": str(error)}
        return render(request, "dashboard/question_refused.html", told, status=409)
    if taken is None:
        raise Http404
    answer = HttpResponse(taken.content, content_type=taken.media)
    answer["Content-Disposition"] = f'attachment; filename="{taken.filename}"'
    return answer
