"""HTTP and websockets."""

import os
import warnings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

from django.core.asgi import get_asgi_application

# WhiteNoise gives its small files as synchronous iterators; they are read whole, which is what Django warns about.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

http = get_asgi_application()  # loads the apps; the imports below need them

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from config import celery as _celery  # noqa: E402, F401 -- tasks sent from the web find their broker
from dashboard.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {"http": http, "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))}
)
