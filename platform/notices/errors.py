"""Errors of the notices app.

foundation.Refused
└── InvalidEndpoint    a field of a webhook must be corrected

DeliveryFailed         this attempt did not arrive; in words that are shown
└── Undeliverable      nor would another one: it is given up at once
"""

from foundation.errors import Refused


class InvalidEndpoint(Refused):
    """The webhook cannot be kept like this."""


class DeliveryFailed(Exception):
    """The attempt did not arrive."""


class Undeliverable(DeliveryFailed):
    """No attempt would arrive."""
