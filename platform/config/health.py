"""Liveness and readiness, for supervisors and load balancers. They say nothing about patients.

Neither asks who is asking: a browser's session would have to be looked up in the database that is being judged.
"""

from typing import Any, cast

import psycopg
import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

PATIENCE_S = 0.5  # with each of the two: who asks whether we are ready asks again soon; a page may wait longer


@login_not_required
def live(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
def ready(request: HttpRequest) -> JsonResponse:
    """Database and broker answer too."""
    state = {"database": _database(), "broker": _broker()}
    return JsonResponse(state, status=200 if all(state.values()) else 503)


def _database() -> bool:
    pool = cast(Any, connection).pool  # none in a process that holds one connection a thread
    try:
        if pool:
            pool.open()  # by whoever comes first
            with pool.connection(timeout=PATIENCE_S) as pooled:
                pooled.execute("SELECT 1")
        else:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
    except (DatabaseError, psycopg.Error):
        return False
    return True


def _broker() -> bool:
    patience = {"socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S}
    client = redis.Redis.from_url(settings.REDIS_URL, retry=Retry(NoBackoff(), 0), **patience)
    try:
        return bool(client.ping())
    except RedisError:
        return False
    finally:
        client.close()
