"""Tell the open pages of an order that something was written or laid beside it."""

from orders import hints
from orders.models import Order


def moved_on(locked: Order) -> None:
    """Nothing that a person typed on another page is outdated by it: `edits` stays."""
    locked.version += 1
    locked.save(update_fields=["version"])
    hints.changed(locked)
