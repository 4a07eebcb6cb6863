"""The turnaround report."""

from django.http import HttpResponse
from django.shortcuts import render

from accounts.middleware import ActorRequest
from dashboard import turnaround_page
from dashboard.views.responses import page


@page
def turnaround(request: ActorRequest) -> HttpResponse:
    """Picture and tables."""
    return render(request, "dashboard/turnaround.html", turnaround_page.page(request.actor, request.GET.dict()))


@page
def turnaround_csv(request: ActorRequest) -> HttpResponse:
    """The figures as a file."""
    answer = HttpResponse(turnaround_page.written(request.actor, request.GET.dict()), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="turnaround.csv"'
    return answer
