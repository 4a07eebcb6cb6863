"""Where a notice leads: an address of this installation, for people who have to log in there."""

from django.conf import settings
from django.urls import reverse

from notices.models import Notice

PAGES = {"audit": "audit-chain", "break_glass": "break-glasses", "drift": "drift"}  # by the first word of the kind


def of(notice: Notice) -> str:
    """The address of its page. Without PUBLIC_URL the path alone."""
    return f"{settings.PUBLIC_URL.rstrip('/')}{path(notice)}"


def path(notice: Notice) -> str:
    """The report that was delivered, a page of its order, of audit chain, break-glass or drift, else that of notifications."""
    if delivered := notice.facts.get("delivery"):
        return reverse("report-delivery", args=[delivered])
    if notice.order_id:
        return reverse("order-critical" if notice.kind == "critical.open" else "order", args=[notice.order_id])
    return reverse(PAGES.get(notice.kind.partition(".")[0], "notifications"))
