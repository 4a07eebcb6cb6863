"""HTTP and websockets, where `starting.require` lets them begin."""

import os
import warnings
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

from django.core.asgi import get_asgi_application

# WhiteNoise gives its small files as synchronous iterators; they are read whole, which is what Django warns about.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

http = get_asgi_application()  # loads the apps; the imports below need them

from asgiref.sync import sync_to_async  # noqa: E402
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.core.management import CommandError  # noqa: E402

from config import bodies, starting  # noqa: E402
from config import celery as _celery  # noqa: E402, F401 -- tasks sent from the web find their broker
from dashboard.routing import websocket_urlpatterns  # noqa: E402


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
