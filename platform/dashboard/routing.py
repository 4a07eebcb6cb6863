"""Websocket addresses."""

from django.urls import URLPattern, URLResolver, path, re_path

from dashboard.consumers import Hints, nowhere

websocket_urlpatterns: list[URLPattern | URLResolver] = [
    path("live/worklist", Hints.as_asgi()),
    path("live/orders/<uuid:order>", Hints.as_asgi()),
    path("live/questions/<uuid:question>", Hints.as_asgi()),
    re_path("", nowhere),  # type: ignore[arg-type]  # an ASGI application, as the router wants it
]
