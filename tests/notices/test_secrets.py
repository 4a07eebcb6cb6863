"""Who may read what a webhook sends, and what proves that we sent it: certificates, and secrets that follow each other."""

import hashlib
import hmac
import ssl
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from foundation import clock
from notices import delivering, endpoints
from notices.models import Delivery, Endpoint
from orders import escalation_rules
from orders.errors import InvalidOrder
from tests.factories import make_actor
from tests.notices.hooks import hooked, told
from tests.notices.receivers import Posts, serving

pytestmark = pytest.mark.django_db


def certificate(folder: Path, address: str) -> Path:
    """A self-signed certificate of an address, with its key, as one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / f"{address}.pem"
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return path


def over_tls(path: Path) -> Posts:
    server = Posts()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def delivered(house, url: str) -> tuple[str, str]:
    delivery = told(house, webhook=[hooked(house, url)[0].pk])
    delivering.deliver()
    delivery.refresh_from_db()
    return delivery.state, delivery.last_error


def test_a_certificate_is_trusted_only_where_its_authority_is_and_for_its_own_name(house, tmp_path, monkeypatch):
    own, others = certificate(tmp_path, "127.0.0.1"), certificate(tmp_path, "192.0.2.1")
    with serving(over_tls(own)) as server, serving(over_tls(others)) as stranger:
        addresses = [one.url.replace("http:", "https:") for one in (server, stranger)]
        for address in addresses:
            state, said = delivered(house, address)
            assert state == "queued" and said.startswith("The receiver's certificate or TLS was refused")
        assert (server.got, stranger.got) == ([], []), "nothing was said to either"
        monkeypatch.setenv("SSL_CERT_FILE", str(own))
        assert delivered(house, addresses[0])[0] == "sent" and len(server.got) == 1
        monkeypatch.setenv("SSL_CERT_FILE", str(others))
        assert delivered(house, addresses[1])[0] == "queued" and stranger.got == [], "trusted, and of another name"


def signed_by(headers: dict[str, str], body: bytes, secrets: list[str]) -> list[bool]:
    """Which of the secrets a receiver finds in the header."""
    said = f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.".encode() + body
    keys = [b64decode(secret.removeprefix("whsec_")) for secret in secrets]
    found = headers["Webhook-Signature"].split(" ")
    return [f"v1,{b64encode(hmac.new(key, said, hashlib.sha256).digest()).decode()}" in found for key in keys]


def test_a_new_secret_and_the_one_before_it_sign_for_a_day(house, monkeypatch):
    with serving(Posts()) as server:
        endpoint, first = hooked(house, server.url)
        other, another = hooked(house, server.url)
        second = endpoints.renew(endpoint=endpoint, actor=house[1])
        told(house, webhook=[endpoint.pk])
        delivering.deliver()
        later = clock.now() + endpoints.OVERLAP
        monkeypatch.setattr(clock, "_source", lambda: later)
        told(house, webhook=[endpoint.pk])
        delivering.deliver()
    found = [signed_by(headers, body, [first, second, another]) for _, headers, body in server.got]
    assert found == [[True, True, False], [False, True, False]]
    kept = "".join(map(str, Endpoint.objects.filter(pk__in=[endpoint.pk, other.pk]).values_list()))
    assert not any(secret.removeprefix("whsec_") in kept for secret in (first, second, another))


def test_another_key_of_the_installation_breaks_no_receiver_silently(house, settings):
    with serving(Posts()) as server:
        endpoint, secret = hooked(house, server.url)
        settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "k" * 50
        told(house, webhook=[endpoint.pk])
        delivering.deliver()
        _, headers, body = server.got[0]
        assert signed_by(headers, body, [secret]) == [True]
        settings.SECRET_KEY_FALLBACKS = []
        told(house, webhook=[endpoint.pk])
        delivering.deliver()
    failed = Delivery.objects.order_by("created_at").last()
    assert (failed.state, len(server.got)) == ("failed", 1) and "SECRET_KEY_FALLBACKS" in failed.last_error


def test_a_rule_of_escalation_names_a_webhook_by_its_name(house):
    laboratory, _ = house
    endpoint, _ = hooked(house, "https://example.org/")
    director = make_actor(role="director", organisation=laboratory)
    said = {"clock": "result", "level": "80", "priority": "", "channel": "webhook"}
    rule = escalation_rules.add(laboratory=laboratory, said={**said, "whom": endpoint.name}, actor=director)
    assert rule.endpoint == endpoint and str(rule.endpoint) == endpoint.name
    with pytest.raises(InvalidOrder):
        escalation_rules.add(laboratory=laboratory, said={**said, "whom": "no such hook"}, actor=director)
