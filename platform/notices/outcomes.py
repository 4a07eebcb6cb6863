"""What became of a delivery goes up in one way only: upper parts register plain functions here.

They are called inside the transaction in which a delivery is sent or given up, in the order of registration.
"""

from collections.abc import Callable

from notices.models import Delivery

OnEnd = Callable[[Delivery], None]

_listeners: list[OnEnd] = []


def on_end(function: OnEnd) -> None:
    """Register a function that hears of every delivery that was sent or given up. What it raises undoes that."""
    _listeners.append(function)


def registered() -> list[OnEnd]:
    """Who is registered, in order."""
    return list(_listeners)


def report(delivery: Delivery) -> None:
    """Tell everybody, inside the caller's transaction."""
    for function in _listeners:
        function(delivery)
