"""Comments on an order and files attached to it."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.middleware import ActorRequest
from casefile import attachments, selectors
from dashboard import papers, reading
from dashboard.views.responses import page
from foundation.errors import Refused
from orders.selectors import order_for


@require_http_methods(["GET", "POST"])
@page
def order_comments(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Write a comment, or one in the place of an own one."""
    order = order_for(request.actor, pk)
    if request.method == "GET":
        return render(request, "dashboard/comment.html", papers.comment_form(request.actor, order, request.GET))
    try:
        papers.write(request.actor, order, request.POST)
    except Refused as error:
        form = papers.comment_form(request.actor, order, request.POST) | {"errors": [str(error)]}
        return render(request, "dashboard/comment.html", form, status=422)
    messages.success(request, "The comment is added.", extra_tags="comments")
    return redirect(f"{reverse('order', args=[pk])}#comments")


@require_http_methods(["GET", "POST"])
@page
def order_attachments(request: ActorRequest, pk: UUID) -> HttpResponse:
    """Attach a file."""
    order = order_for(request.actor, pk)
    if request.method == "GET":
        return render(request, "dashboard/attach.html", papers.attach_form(request.actor, order, request.GET))
    try:
        laid = papers.lay(request.actor, order, request.POST, cast(papers.Files, request.FILES.dict()))
    except Refused as error:
        form = papers.attach_form(request.actor, order, request.POST, error)
        return render(request, "dashboard/attach.html", form, status=422)
    messages.success(request, f"File {laid.number} is attached.", extra_tags="attachments")
    return redirect(f"{reverse('order', args=[pk])}#attachments")


@require_safe
@page
def order_attachment(request: ActorRequest, pk: UUID, file: UUID) -> HttpResponse:
    """The bytes of a file, to be saved: a browser never shows them as a page of ours."""
    found = selectors.attachment_to_read(request.actor, pk, file)
    try:
        content, name = papers.download(found)
    except Refused as error:
        return render(request, "dashboard/damaged.html", {"words": str(error)}, status=500)
    reading.attachment(request.actor, found)
    answer = HttpResponse(content, content_type=found.media_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return answer


@require_http_methods(["GET", "POST"])
@page
def order_attachment_withdraw(request: ActorRequest, pk: UUID, file: UUID) -> HttpResponse:
    """Ask for the reason, then withdraw."""
    order = order_for(request.actor, pk)
    if request.method == "GET":
        return render(request, "dashboard/withdraw.html", papers.withdraw_form(request.actor, order, file, {}))
    try:
        found = selectors.attachment_for(request.actor, order, file)
        attachments.withdraw(actor=request.actor, attachment=found, reason=request.POST.get("reason", ""))
    except Refused as error:
        form = papers.withdraw_form(request.actor, order, file, request.POST, error)
        return render(request, "dashboard/withdraw.html", form, status=409)
    messages.success(request, f"File {found.number} is withdrawn.", extra_tags="attachments")
    return redirect(f"{reverse('order', args=[pk])}#attachments")
