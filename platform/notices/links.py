"""Where a notice leads: an address of this installation, for people who have to log in there."""

from django.conf import settings
from django.urls import reverse

from notices.models import Notice


def of(notice: Notice) -> str:
    """The page of its order, of the audit chain or break-glass, else of notifications. Without PUBLIC_URL the path alone."""
    pages = {"audit": "audit-chain", "break_glass": "break-glasses"}
    plain = reverse(pages.get(notice.kind.partition(".")[0], "notifications"))
    path = reverse("order", args=[notice.order_id]) if notice.order_id else plain
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}"
