"""What every page needs."""

from typing import Any

from django.http import HttpRequest


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Navigation entries this person may use."""
    return {}
