"""Where a notice leads: an address of this installation, for people who have to log in there."""

from django.conf import settings
from django.urls import reverse

from notices.models import Notice


def of(notice: Notice) -> str:
    """The page of its order or of the audit chain, else that of notifications. Without PUBLIC_URL the path alone."""
    plain = reverse("audit-chain" if notice.kind.startswith("audit.") else "notifications")
    path = reverse("order", args=[notice.order_id]) if notice.order_id else plain
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}"
