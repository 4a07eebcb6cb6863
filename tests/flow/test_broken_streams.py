"""An answer that breaks off because the database went away gives its connection back: the pool never runs dry."""

import asyncio

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import DatabaseError, connection
from django.db.backends.signals import connection_created
from django.test import Client

from accounts.roles import Role
from config.asgi import application
from dashboard import worklist_csv
from tests.factories import make_order, make_ready_intake, make_user


def cookie_of(user):
    client = Client()
    client.force_login(user)
    return f"sessionid={client.cookies['sessionid'].value}".encode()


def cut_off():
    """What a restart of the database does to everybody who is connected."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
        )
    connection.close()


async def exported(cookie):
    """Read the first part of the export, cut the database off, and read on."""
    scope = {
        "type": "http", "method": "GET", "path": "/worklist.csv", "query_string": b"", "http_version": "1.1",
        "headers": [(b"host", b"testserver"), (b"cookie", cookie)], "client": ("127.0.0.1", 1), "server": ("testserver", 80),
    }  # fmt: skip
    line = ApplicationCommunicator(application, scope)
    await line.send_input({"type": "http.request"})
    assert (await line.receive_output(timeout=10))["status"] == 200
    await line.receive_output(timeout=10)
    await asyncio.to_thread(cut_off)
    with pytest.raises(DatabaseError):
        while True:
            await line.receive_output(timeout=10)


def test_a_stream_that_fails_in_the_middle_keeps_no_connection(clone_db, settings, monkeypatch):
    settings.STATIC_ROOT = None
    monkeypatch.setattr(worklist_csv, "BATCH", 1)
    order = make_order(variants=1)
    for _ in range(3):
        make_order(intake=make_ready_intake(variants=1, test_version=order.test_version))
    user = make_user(role=Role.ANALYST, organisation=order.performing_laboratory)
    opened = []
    cookie = cookie_of(user)

    def note(connection, **_):
        opened.append(connection)

    connection_created.connect(note)
    asyncio.run(exported(cookie))
    assert opened and all(one.connection is None for one in opened)
