"""E-mail and webhooks against real receivers: what arrives, what is tried again, what is given up, and what is never reached."""

import hashlib
import hmac
import json
import socket
from base64 import b64decode, b64encode
from datetime import timedelta

import pytest

from accounts.roles import Role
from audit.models import Event
from foundation import clock
from foundation.errors import NotPermitted, Refused
from notices import addresses, delivering, endpoints, services, webhook
from notices.errors import InvalidEndpoint
from notices.models import Delivery, Endpoint, Notice
from tests.factories import make_actor, make_laboratory, make_user
from tests.notices.hooks import hooked, told
from tests.notices.receivers import Mails, Posts, serving

pytestmark = pytest.mark.django_db


def later(monkeypatch, delivery: Delivery) -> None:
    """The moment at which the next attempt is due."""
    moment = Delivery.objects.get(pk=delivery.pk).not_before
    monkeypatch.setattr(clock, "_source", lambda: moment)


def test_a_webhook_gets_codes_and_a_link_signed_with_its_secret(house):
    with serving(Posts()) as server:
        endpoint, secret = hooked(house, server.url)
        delivery = told(house, webhook=[endpoint.pk])
        assert delivering.deliver() == 1
    path, headers, body = server.got[0]
    signed = f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.".encode() + body
    expected = b64encode(hmac.new(b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()).decode()
    assert (path, headers["Webhook-Id"]) == ("/hook?from=helicase", str(delivery.pk))
    assert headers["Webhook-Signature"] == f"v1,{expected}"
    data = json.loads(body)["data"]
    assert data["order"]["accession"] == "A26-000017" and data["order"]["link"].startswith("https://helicase.example/orders/")
    assert (data["level"], "by" in data) == (80, False)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.last_error) == ("sent", 1, "")


def test_what_does_not_arrive_is_tried_again_more_and_more_rarely_and_then_given_up(house, monkeypatch):
    with serving(Posts(status=503)) as server:
        delivery = told(house, webhook=[hooked(house, server.url)[0].pk])
        for attempt in range(1, delivering.ATTEMPTS + 1):
            assert delivering.deliver() == 1
            assert delivering.deliver() == 0  # not before its time
            delivery.refresh_from_db()
            assert delivery.attempts == attempt and delivery.last_error == "The receiver answered 503."
            later(monkeypatch, delivery)
    assert (delivery.state, len(server.got)) == ("failed", delivering.ATTEMPTS)
    assert len({headers["Webhook-Id"] for _, headers, _ in server.got}) == 1
    waits = [delivering.backoff(n) for n in range(1, delivering.ATTEMPTS)]
    assert waits == sorted(waits) and waits[-1] == timedelta(hours=1)
    assert Event.objects.filter(object_id=str(delivery.pk), action="state.failed").exists()


def test_what_was_given_up_is_sent_again_by_an_administrator(house):
    with serving(Posts()) as server:
        delivery = told(house, webhook=[hooked(house, server.url)[0].pk])
        Delivery.objects.filter(pk=delivery.pk).update(state="failed", attempts=8)
        stranger = make_actor(role=Role.ADMINISTRATOR, organisation=make_laboratory())
        with pytest.raises(NotPermitted):
            delivering.send_again(delivery=delivery, actor=stranger)
        delivering.send_again(delivery=delivery, actor=house[1])
        with pytest.raises(Refused):
            delivering.send_again(delivery=delivery, actor=house[1])
        delivering.deliver()
    delivery.refresh_from_db()
    assert (delivery.state, len(server.got)) == ("sent", 1)


def test_a_redirect_is_not_followed(house):
    with serving(Posts()) as other, serving(Posts(status=302, location=other.url)) as server:
        delivery = told(house, webhook=[hooked(house, server.url)[0].pk])
        delivering.deliver()
    delivery.refresh_from_db()
    assert (delivery.last_error, other.got) == ("The receiver answered 302: redirects are not followed.", [])


def test_who_answers_nothing_is_cut_off(house, monkeypatch):
    monkeypatch.setattr(webhook, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        delivery = told(house, webhook=[hooked(house, f"http://127.0.0.1:{mute.getsockname()[1]}/")[0].pk])
        delivering.deliver()
    delivery.refresh_from_db()
    assert delivery.state == "queued" and delivery.last_error.startswith("No answer within")


def test_a_closed_port_is_told_in_words(house):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    delivery = told(house, webhook=[hooked(house, f"http://127.0.0.1:{port}/")[0].pk])
    delivering.deliver()
    delivery.refresh_from_db()
    assert delivery.last_error == "The receiver could not be reached (ConnectionRefusedError)."


def test_an_attempt_whose_process_died_is_made_again_after_its_lease(house, monkeypatch):
    with serving(Posts()) as server:
        delivery = told(house, webhook=[hooked(house, server.url)[0].pk])
        assert delivering._claim() is not None  # and dies
        assert delivering.deliver() == 0
        later(monkeypatch, delivery)
        assert (delivering.deliver(), len(server.got)) == (1, 1)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1", "fe80::1", "fc00::1",  # noqa: S104
     "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "::"],
)  # fmt: skip
def test_an_address_of_this_network_is_no_public_one(address):
    assert not addresses.is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
def test_a_public_address_is_one(address):
    assert addresses.is_public(address)


def test_without_the_setting_nothing_of_this_network_is_reached_and_no_second_attempt_made(house, settings):
    with serving(Posts()) as server:
        endpoint, _ = hooked(house, f"https://localhost:{server.server_address[1]}/")
        settings.WEBHOOK_PRIVATE = False
        delivery = told(house, webhook=[endpoint.pk])
        delivering.deliver()
    delivery.refresh_from_db()
    assert (delivery.state, server.got) == ("failed", [])
    assert "may not reach" in delivery.last_error


@pytest.mark.parametrize(
    "url",
    ["http://example.org/", "ftp://example.org/", "https://", "https://user:pw@example.org/", "https://example.org/#a",
     "https://exa mple.org/", "https://example.org:99999/", f"https://example.org/{'a' * 500}", "https://[::1/"],
)  # fmt: skip
def test_an_address_that_no_webhook_may_have_is_refused_in_words(house, settings, url):
    settings.WEBHOOK_PRIVATE = False
    with pytest.raises(InvalidEndpoint):
        hooked(house, url)


def test_only_an_administrator_of_the_organisation_makes_webhooks_and_its_secret_is_stored_nowhere(house):
    laboratory, administrator = house
    endpoint, secret = hooked(house, "https://example.org/")
    assert secret not in "".join(str(value) for value in Endpoint.objects.filter(pk=endpoint.pk).values_list()[0])
    assert endpoints.renew(endpoint=endpoint, actor=administrator) != secret
    for role, place in ((Role.DIRECTOR, laboratory), (Role.ADMINISTRATOR, make_laboratory())):
        with pytest.raises(NotPermitted):
            endpoints.remove(endpoint=endpoint, actor=make_actor(role=role, organisation=place))
    with pytest.raises(InvalidEndpoint):
        endpoints.add(organisation=laboratory, name=endpoint.name, url="https://example.org/", actor=administrator)
    endpoints.remove(endpoint=endpoint, actor=administrator)
    with pytest.raises(InvalidEndpoint):
        endpoints.try_out(endpoint=endpoint, actor=administrator)


def test_an_e_mail_holds_the_number_and_a_link_and_nothing_clinical(house, settings):
    person = make_user(role=Role.ANALYST, organisation=house[0])
    with serving(Mails()) as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.server_address[1]
        delivery = told(house, email=[person.pk])
        delivering.deliver()
    mail = server.got[0]
    assert f"To: {person.email}" in mail and "Subject: Order A26-000017\r\n" in mail
    body = mail.partition("\r\n\r\n")[2]
    lines = [
        "Order A26-000017: 80 % of the time to results is used.",
        "",
        f"https://helicase.example/orders/{delivery.notice.order_id}/",
    ]
    assert body.split("\r\n")[:3] == lines
    delivery.refresh_from_db()
    assert delivery.state == "sent"


@pytest.mark.parametrize("case", ["refused", "unreachable", "none"])
def test_a_mail_server_that_does_not_take_it_is_told_in_words_and_tried_again(house, settings, case):
    person = make_user(role=Role.ANALYST, organisation=house[0])
    with serving(Mails(refuse=True)) as server, socket.create_server(("127.0.0.1", 0)) as closed:
        closed_port = closed.getsockname()[1]
        closed.close()
        settings.EMAIL_HOST = "" if case == "none" else "127.0.0.1"
        settings.EMAIL_PORT = closed_port if case == "unreachable" else server.server_address[1]
        delivery = told(house, email=[person.pk])
        delivering.deliver()
    delivery.refresh_from_db()
    words = {"refused": "refused the recipient", "unreachable": "could not be reached", "none": "No mail server is configured"}
    assert delivery.state == "queued" and words[case] in delivery.last_error


def test_who_has_left_gets_no_mail(house, settings):
    person = make_user(role=Role.ANALYST, organisation=house[0])
    delivery = told(house, email=[person.pk])
    person.memberships.update(ended_at=clock.now())
    delivering.deliver()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.last_error[:40]) == ("failed", "The person does not belong to either sid")


def test_the_same_event_told_again_is_told_once(house):
    person = make_user(role=Role.ANALYST, organisation=house[0])
    said = services.Told("key", "order.escalated", house[0].pk, [house[0].pk], facts={"clock": "report", "level": 50})
    for _ in range(2):
        services.tell(said, services.Audience(in_app=[person.pk], email=[person.pk]))
    assert (Notice.objects.count(), Delivery.objects.count()) == (1, 1)


def test_an_address_that_cannot_be_sent_to_is_refused_and_one_from_before_holds_up_nobody(house):
    with pytest.raises(InvalidEndpoint, match="ASCII"):
        hooked(house, "https://hooks.example/über")
    with serving(Posts()) as server:
        good, _ = hooked(house, server.url)
        odd = Endpoint.objects.create(
            organisation=house[0], name="odd", url=f"{server.url}&to=\u00fcber", nonce="0" * 64, created_at=clock.now()
        )
        first, second = told(house, webhook=[odd.pk]), told(house, webhook=[good.pk])
        assert delivering.deliver() == 2
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state, len(server.got)) == ("failed", "sent", 1)


def test_an_error_of_a_library_is_one_failed_attempt(house, monkeypatch):
    def broken(delivery):
        raise ValueError

    monkeypatch.setitem(delivering._CHANNELS, "webhook", broken)
    delivery = told(house, webhook=[hooked(house, "https://hooks.example/")[0].pk])
    assert delivering.deliver() == 1
    delivery.refresh_from_db()
    assert (delivery.state, delivery.last_error) == ("queued", "It could not be sent (ValueError).")
