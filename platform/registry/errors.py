"""What the registry refuses.

foundation.errors.HelicaseError
└── FileChanged           a file no longer holds what it was registered with
foundation.errors.Refused
├── RegistrationRefused   a folder, file or row that cannot be registered; the message is one sentence for the operator
└── pins.PinRefused       a deployment that pins a setting beyond any machine
"""

from foundation.errors import HelicaseError, Refused


class RegistrationRefused(Refused):
    """This cannot be registered."""


class FileChanged(HelicaseError):
    """A file no longer holds what it was registered with."""
