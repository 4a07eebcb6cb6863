"""Websocket addresses."""

from django.urls import URLPattern, URLResolver, path

from dashboard.consumers import Hints

websocket_urlpatterns: list[URLPattern | URLResolver] = [
    path("live/worklist", Hints.as_asgi()),
    path("live/orders/<uuid:order>", Hints.as_asgi()),
]
