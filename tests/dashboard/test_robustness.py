"""What strangers may send, and what is written down of it: absurd dates, keys, bodies and addresses; errors without values."""

import asyncio
import logging
import subprocess
import sys
from uuid import uuid4

import pytest
import structlog
from asgiref.testing import ApplicationCommunicator
from django.conf import settings as configured
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import User
from config import bodies, error_pages, log_lines
from config.asgi import application
from dashboard import consumers
from tests.dashboard.desk import TYPED
from tests.dashboard.people import Ward, logged_in
from tests.dashboard.test_live import WORKLIST, Line, session
from tests.factories import make_laboratory, make_user
from tests.services import ROOT

MEGABYTE = 1024 * 1024
UNREADABLE = '88-1204 "x"\nDETAIL: 88-1204'
NO_KEY = ['"\\000aaaaaaaaa"', '"aaaaaaaaaaaa\\000"', "AAAAAAAAAAAA", "aaaaaaaa-aaaa"]


def reply(path, *pieces, headers=()):
    """(status, headers, page) of the real application to a POST whose body comes in these pieces."""

    async def ask():
        scope = {
            "type": "http", "method": "POST", "path": path, "query_string": b"", "http_version": "1.1",
            "headers": [(b"host", b"testserver"), *((k, v) for k, v in headers)],
        }  # fmt: skip
        line = ApplicationCommunicator(application, scope)
        for piece in pieces:
            await line.send_input({"type": "http.request", "body": piece, "more_body": True})
        await line.send_input({"type": "http.request", "body": b""})
        start, page = await line.receive_output(timeout=10), await line.receive_output(timeout=10)
        await line.send_input({"type": "http.disconnect"})
        await line.wait(timeout=10)
        return start["status"], dict(start["headers"]), page["body"].decode()

    return asyncio.run(ask())


def cookie(client):
    return b"cookie", f"sessionid={client.cookies['sessionid'].value}".encode()


@pytest.mark.parametrize("path", ["/login/", "/orders/new/", "/nowhere"])
def test_a_body_that_is_announced_too_large_is_refused_in_words_and_the_connection_closed(path):
    status, headers, page = reply(path, headers=[(b"content-length", b"734003200")])
    assert (status, headers[b"connection"]) == (413, b"close") and "This is too much at once" in page


@pytest.mark.parametrize("announced", [[], [(b"content-length", b"10")]])
def test_a_body_that_grows_too_large_is_refused_whatever_was_announced(announced):
    assert reply("/login/", *[b"x" * 400_000] * 3, headers=announced)[0] == 413


def test_a_file_may_come_from_somebody_who_is_logged_in(clone_db):
    client = session("requester", make_laboratory())
    assert reply(reverse("order-input"), b"x" * 2 * MEGABYTE, headers=[cookie(client)])[0] == 403  # no token: Django has read it
    assert reply(reverse("login"), b"x" * 2 * MEGABYTE, headers=[cookie(client)])[0] == 413


def test_a_file_of_an_order_may_be_larger_than_a_form_but_not_than_its_limit(clone_db):
    client = session("requester", make_laboratory())
    path = reverse("order-attachments", args=[uuid4()])
    assert reply(path, b"x" * 2 * MEGABYTE, headers=[cookie(client)])[0] == 403  # no token: Django has read it
    assert reply(path, headers=[cookie(client), (b"content-length", b"25000000")])[0] == 413
    assert reply(path, b"x" * 2 * MEGABYTE)[0] == 413  # nobody


def test_a_made_up_session_may_send_no_file(clone_db):
    assert reply(reverse("order-input"), b"x" * 2 * MEGABYTE, headers=[(b"cookie", b"sessionid=" + b"a" * 32)])[0] == 413


def test_a_file_over_the_limit_is_refused_by_its_announced_length(clone_db):
    announced = str(configured.UPLOAD_LIMIT + 16 * MEGABYTE).encode()
    headers = [cookie(session("requester", make_laboratory())), (b"content-length", announced), (b"hx-request", b"true")]
    status, _, page = reply(reverse("order-input"), headers=headers)
    assert status == 413 and page.startswith('<div id="verdict" data-refusals="show"')


class Crowd:
    """Requests to the limiter alone: the application behind it reads until the body ends."""

    def __init__(self):
        async def application(scope, receive, send):
            while (await receive()).get("more_body", False):
                pass
            await send({"type": "http.response.start", "status": 200, "headers": []})

        self.limited = bodies.LimitedBody(application)

    async def begin(self, client, path):
        """One that has sent a first piece, and goes on."""
        scope = {"type": "http", "path": path, "headers": [cookie(client), (b"hx-request", b"true")]}
        line = ApplicationCommunicator(self.limited, scope)
        await line.send_input({"type": "http.request", "body": b"x", "more_body": True})
        return line

    async def until_it_is_read(self, person, number):
        while self.limited.sending[person] < number:
            await asyncio.sleep(0.01)


async def finish(line):
    await line.send_input({"type": "http.request", "body": b""})
    start = await line.receive_output(timeout=10)
    await line.wait(timeout=10) if start["status"] == 200 else line.future.cancel()
    return start["status"]


def test_one_person_sends_two_files_at_once_and_another_is_not_held_up(clone_db):
    path, laboratory = reverse("order-input"), make_laboratory()
    one, other = session("requester", laboratory), session("requester", laboratory)
    crowd = Crowd()

    async def act():
        person = await bodies._signed_in(one.cookies["sessionid"].value)
        lines = []
        for number in (1, 2):
            lines.append(await crowd.begin(one, path))
            await crowd.until_it_is_read(person, number)
        said = [await finish(await crowd.begin(one, path)), await finish(await crowd.begin(other, path))]
        ended = [await finish(line) for line in lines]
        return said, ended, await finish(await crowd.begin(one, path)), crowd.limited.sending

    assert asyncio.run(act()) == ([429, 200], [200, 200], 200, {})


@pytest.mark.parametrize(
    ("headers", "words"), [([], "Your other files come first"), ([(b"hx-request", b"true")], "then check this one")]
)
def test_a_third_file_is_refused_in_words(headers, words):
    assert words in bodies._words(429, {"headers": headers})


def test_the_addresses_that_take_files_exist():
    assert bodies._upload_paths(bodies.UPLOADS) == {"/orders/new/", "/orders/new/input", "/orders/bulk/"}
    assert bodies._upload_paths(bodies.API_UPLOADS) == {"/api/v1/intakes"}
    assert bodies._upload_paths(bodies.FHIR_UPLOADS) == {"/fhir", "/fhir/", "/fhir/ServiceRequest"}


@pytest.mark.django_db
@pytest.mark.parametrize("key", NO_KEY)
def test_a_session_key_that_django_cannot_have_made_is_nobodys_and_is_not_looked_up(key, django_assert_num_queries):
    client = Client()
    client.cookies.load(f"sessionid={key}")
    with django_assert_num_queries(0):
        assert client.get(reverse("worklist")).status_code == 302


@pytest.mark.parametrize("key", NO_KEY)
def test_a_socket_with_such_a_key_is_refused(clone_db, valkey_url, key):
    client = Client()
    client.cookies["sessionid"] = "x"
    client.cookies["sessionid"].set("sessionid", key, key)
    assert asyncio.run(Line(WORKLIST, client).opens()) is False


def test_a_key_that_django_made_still_opens_its_session(clone_db, valkey_url):
    assert session("analyst", make_laboratory()).get(reverse("worklist")).status_code == 200


def test_an_unknown_socket_address_is_closed(clone_db):
    async def close(path):
        line = Line(path)
        await line.send_input({"type": "websocket.connect"})
        return await line.hears()

    paths = ["/live/nothing", "/", "/live/orders/no-uuid", ""]
    assert [asyncio.run(close(path)) for path in paths] == [consumers.NOWHERE] * len(paths)


@pytest.mark.django_db
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/New_York"])
@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("birth_date", "0001-01-01", "The birth date must lie between 1900 and today."),
        ("birth_date", "9999-12-31", "The birth date lies in the future."),
        ("collected_at", "0001-01-01T00:00", "The collection time must lie between 1900 and now."),
        ("collected_at", "9999-12-31T23:59", "The collection time lies in the future."),
    ],
)
def test_absurd_dates_are_refused_in_words(zone, field, typed, words):
    ward = Ward(time_zone=zone)
    order = {**TYPED, "test": str(ward.test.pk), "organisation": str(ward.hospital.pk), "intake": str(ward.intake().pk)}
    response = ward.requester().post(reverse("order-new"), {**order, field: typed, "do": "place"})
    assert response.status_code == 422 and words in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("page", [error_pages.bad_request, error_pages.forbidden, error_pages.not_found])
def test_error_pages_ask_no_database_for_whoever_is_logged_in(page, django_assert_num_queries):
    request = RequestFactory().get("/nothing")
    request.user = make_user(role="analyst", organisation=make_laboratory())
    with django_assert_num_queries(0):
        assert f"Code {page(request, Exception()).status_code}" in page(request, Exception()).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(("address", "status"), [("/nothing", 404), ("/engine/", 403)])
def test_django_uses_these_error_pages(address, status):
    response = logged_in("requester", make_laboratory()).get(address)
    assert response.status_code == status and "Log out" not in response.content.decode()


def twice(email="mrn-88-1204@example.org"):
    """The error of PostgreSQL about a value that is there already."""
    with transaction.atomic():
        User.objects.create_user(email=email, name="One", password=None)
    try:
        with transaction.atomic():
            User.objects.create_user(email=email, name="Two", password=None)
    except IntegrityError:
        return sys.exc_info()


def record(exc_info=None, message="failed", *args):
    return logging.LogRecord("django.request", logging.ERROR, "x.py", 1, message, args, exc_info)


@pytest.mark.django_db
def test_a_traceback_in_the_log_names_the_constraint_and_not_the_value():
    error = twice()
    assert "mrn-88-1204" in logging.Formatter().format(record(error))
    line = log_lines.Formatter().format(record(error))
    assert "psycopg.errors.UniqueViolation: duplicate key" in line and "test_robustness.py" in line
    assert "mrn-88-1204" not in line and "DETAIL" not in line


@pytest.mark.django_db
@pytest.mark.parametrize("show", [str, repr])
def test_an_error_in_a_message_is_cut_too(show):
    line = log_lines.Formatter().format(record(None, "Task failed: %s", show(twice()[1])))
    assert "duplicate key" in line and "mrn-88-1204" not in line


@pytest.mark.django_db
def test_another_error_that_quotes_a_database_error_is_cut_too():
    try:
        raise RuntimeError(f"could not: {twice()[1]}")
    except RuntimeError:
        assert "mrn-88-1204" not in log_lines.traceback_of(sys.exc_info())


@pytest.mark.django_db
@pytest.mark.parametrize("sql", ["SELECT %s::integer", "SELECT %s::date", "SELECT * FROM missing WHERE mrn = %s"])
def test_a_value_that_the_database_could_not_read_is_not_shown(sql):
    with pytest.raises(DatabaseError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, [UNREADABLE])
    assert "88-1204" in str(caught.value)
    assert "88-1204" not in log_lines.Formatter().format(record((caught.type, caught.value, caught.tb)))


@pytest.mark.django_db
def test_structured_lines_are_cut_too(capsys):
    structlog.get_logger().error("failed", exc_info=twice(), error=twice("b@example.org")[1])
    said = capsys.readouterr().out
    assert "UniqueViolation" in said and "mrn-88-1204" not in said and "b@example.org" not in said


FAILS = """
import threading
from django.db import connection
def fail():
    connection.cursor().execute("DO $$ BEGIN RAISE EXCEPTION 'refused' USING DETAIL = 'Key (value)=(88-1204) is there'; END $$")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
fail()
"""


def test_a_command_and_a_thread_that_fail_say_where_and_no_value(clone_db):
    command = [sys.executable, "manage.py", "shell", "-v", "0", "-c", FAILS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.count("psycopg.errors.RaiseException: refused\n") == 2
    assert "in fail" in done.stderr and "88-1204" not in done.stderr and "DETAIL" not in done.stderr


def test_every_handler_of_the_process_writes_such_lines():
    formatters = configured.LOGGING["formatters"]
    assert {formatters[handler["formatter"]]["()"] for handler in configured.LOGGING["handlers"].values()} == {
        "config.log_lines.Formatter"
    }


def test_an_access_line_tells_no_search():
    access = record(None, '%s - "%s %s HTTP/%s" %d', "127.0.0.1:5", "GET", "/?q=Okafor", "1.1", 200)
    assert log_lines.WithoutQuery().filter(access) and access.getMessage() == '127.0.0.1:5 - "GET / HTTP/1.1" 200'
