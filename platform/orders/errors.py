"""Errors of the orders app.

foundation.Refused
├── InvalidOrder     something in the request must be corrected (field by field)
└── OrderConflict    the same number or the same file already stands for another order
"""

from foundation.errors import Refused


class InvalidOrder(Refused):
    """Some fields need to be corrected."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        super().__init__(code="order.invalid")
        self.fields = fields


class OrderConflict(Refused):
    """Another order already stands for this."""
