"""What the registry refuses.

foundation.errors.Refused
├── RegistrationRefused   a folder, file or row that cannot be registered; the message is one sentence for the operator
└── pins.PinRefused       a deployment that pins a setting beyond any machine
"""

from foundation.errors import Refused


class RegistrationRefused(Refused):
    """This cannot be registered."""
