"""What an order needs a person for: one code stands in front, others behind it, and each goes when somebody has seen to it.

Each function gives the columns as they become; the caller writes them with his own.
"""

from collections.abc import Iterable
from typing import Any

from orders.models import Order

COLUMNS = ("attention", "attention_also")


def codes(order: Order) -> list[str]:
    """Every code, the gravest first."""
    return [code for code in (order.attention, *order.attention_also) if code]


def columns(found: Iterable[str]) -> dict[str, Any]:
    """The columns of an order that needs a person for these, the gravest first."""
    first, *others = [*dict.fromkeys(found)] or [""]
    return {"attention": first, "attention_also": others}


def add(order: Order, *more: str, front: bool = False) -> None:
    """Needs a person for these as well, before or after what it needed one for."""
    found = codes(order)
    _set(order, [*more, *found] if front else [*found, *more])


def settle(order: Order, code: str) -> None:
    """This has been seen to; what else there is stays."""
    _set(order, [one for one in codes(order) if one != code])


def _set(order: Order, found: Iterable[str]) -> None:
    for name, value in columns(found).items():
        setattr(order, name, value)
