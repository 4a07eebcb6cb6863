"""Where a notice leads: an address of this installation, for people who have to log in there."""

from django.conf import settings
from django.urls import reverse

from notices.models import Notice


def of(notice: Notice) -> str:
    """The page of its order; the page of notifications where it has none. Without PUBLIC_URL the path alone."""
    path = reverse("order", args=[notice.order_id]) if notice.order_id else reverse("notifications")
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}"
