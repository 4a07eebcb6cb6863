"""Where a webhook may go: to addresses of the public internet, unless the operator allows the house's own.

The address that was looked up and found good is the one that is connected to: a name that answers otherwise a second later reaches
nothing else.
"""

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from notices.errors import DeliveryFailed, InvalidEndpoint, Undeliverable

_TRANSLATED = IPv6Network("64:ff9b::/96")  # RFC 6052: an IPv4 address in its last 32 bits


def parsed(url: str, *, private: bool) -> SplitResult:
    """The parts of an address that a webhook may have. Raises `InvalidEndpoint` in words."""
    if len(url) > 500 or any(not letter.isprintable() or letter.isspace() for letter in url):
        raise InvalidEndpoint("The address is longer than 500 letters or holds blanks.", code="webhook.address")
    if not url.isascii():
        words = "Write the address in ASCII: other letters percent-encoded, in a name as xn--…."
        raise InvalidEndpoint(words, code="webhook.address")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidEndpoint("This is no address that can be read.", code="webhook.address") from None
    if parts.scheme != "https" and not (private and parts.scheme == "http"):
        raise InvalidEndpoint("The address has to begin with https://.", code="webhook.address")
    if not parts.hostname or port == 0:
        raise InvalidEndpoint("The address names no host.", code="webhook.address")
    if parts.username or parts.password or parts.fragment:
        raise InvalidEndpoint(
            "Leave user, password and # out of the address; the signature proves who sends.", code="webhook.address"
        )
    return parts


def resolve(host: str, port: int, *, private: bool) -> str:
    """The address to connect to. Raises `DeliveryFailed`, or `Undeliverable` where one of the answers is not for us to reach."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise DeliveryFailed(f"The name {host} could not be looked up.") from None
    answers = [str(answer[4][0]).partition("%")[0] for answer in found]
    if not private and not all(is_public(answer) for answer in answers):
        raise Undeliverable(f"{host} is an address of this network or machine, which webhooks may not reach here.")
    return answers[0]


def is_public(text: str) -> bool:
    """Whether an address belongs to the public internet, also when it is written inside another one."""
    address = ip_address(text)
    return address.is_global and not address.is_multicast and all(is_public(str(inner)) for inner in _inside(address))


def _inside(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address stands for: mapped, 6to4, Teredo, NAT64."""
    if isinstance(address, IPv4Address):
        return []
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _TRANSLATED:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [inner for inner in found if inner is not None]
