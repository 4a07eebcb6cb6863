"""HTTP and websockets, where `starting.require` lets them begin."""

import os
import warnings
from collections.abc import Mapping
from typing import Any, cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

import django

# WhiteNoise gives its small files as synchronous iterators; they are read whole, which is what Django warns about.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

django.setup(set_prefix=False)  # loads the apps; the imports below need them

from asgiref.sync import sync_to_async  # noqa: E402
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402
from django.core.management import CommandError  # noqa: E402
from django.db import close_old_connections  # noqa: E402

from config import bodies, starting  # noqa: E402
from config import celery as _celery  # noqa: E402, F401 -- tasks sent from the web find their broker
from dashboard.routing import websocket_urlpatterns  # noqa: E402


class Http(ASGIHandler):
    """Django's own; it also ends a request whose answer broke off in the middle, and so gives back what the request borrowed."""

    async def handle(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Without this, a connection of the pool that a failed stream had would never be lent again."""
        try:
            await super().handle(scope, receive, send)
        except BaseException:
            if "body_file" in scope:
                scope["body_file"].close()
            await sync_to_async(close_old_connections)()
            raise

    def create_request(self, scope: Mapping[str, Any], body_file: Any) -> tuple[Any, Any]:
        """The request, or why there is none; its body is kept where `handle` finds it."""
        cast(dict[str, Any], scope)["body_file"] = body_file
        made: tuple[Any, Any] = super().create_request(scope, body_file)
        return made


http = Http()


async def lifespan(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """What the server asks before its first request: it logs the one line and ends when the answer is no."""
    await receive()
    try:
        await sync_to_async(starting.require)()
    except CommandError as refusal:
        await send({"type": "lifespan.startup.failed", "message": str(refusal)})
        return
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


application = ProtocolTypeRouter(
    {
        "http": bodies.LimitedBody(http),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
        "lifespan": lifespan,
    }
)
