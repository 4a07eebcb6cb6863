"""A test version in words: what it takes, how it scores, what it promises by priority, and which versions there were."""

from dataclasses import dataclass

from dashboard.wording import counted
from foundation.actor import Actor
from orders.offers import versions
from registry.models import TestVersion
from registry.priority import Priority

STRANDS = {"average": "both strands, averaged", "forward": "forward strand", "reverse": "reverse strand"}


@dataclass(frozen=True)
class Promise:
    """What a priority gets."""

    priority: str
    scored: str
    released: str
    signatures: str


def whole(actor: Actor, test: TestVersion) -> dict[str, object]:
    """What the page shows."""
    return {
        "test": test,
        "accepts": ", ".join(test.accepts).upper(),
        "protocol": protocol_words(test.protocol),
        "promises": [promise(test, priority) for priority in Priority.values],
        "versions": versions(actor, test),
    }


def promise(test: TestVersion, priority: str) -> Promise:
    """Due times counted from acceptance, and how many people sign."""
    scored, released = test.sla_minutes[priority]
    signs = counted(int(test.signatures[priority]), "person", "people")
    return Promise(priority, _within(scored), _within(released), signs)


def _within(minutes: int) -> str:
    """15 min, 2 h, 2 h 30 min."""
    hours, rest = divmod(minutes, 60)
    return " ".join(filter(None, (f"{hours} h" if hours else "", f"{rest} min" if rest else "")))


def protocol_words(protocol: dict[str, object]) -> str:
    """Kind, window and strand, as the order page says them."""
    strand = STRANDS.get(str(protocol.get("strand")), str(protocol.get("strand")))
    grid = f", grid of {protocol['grid']:,} bases" if "grid" in protocol else ""
    return f"{protocol.get('kind')}, {protocol.get('window'):,} bases{grid}, {strand}"
