"""That an order was cancelled goes up in one way only: upper parts register plain functions here.

They are called inside the transaction of the cancellation, the order locked, in the order of registration.
"""

from collections.abc import Callable

from foundation.actor import Actor
from orders.models import Order

OnCancel = Callable[[Order, Actor], None]

_listeners: list[OnCancel] = []


def on_cancel(function: OnCancel) -> None:
    """Register a function that hears of every order that is cancelled, and by whom. What it raises undoes that."""
    _listeners.append(function)


def report(order: Order, actor: Actor) -> None:
    """Tell everybody, inside the caller's transaction."""
    for function in _listeners:
        function(order, actor)
