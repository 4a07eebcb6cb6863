"""The platform's exceptions.

HelicaseError
├── NotFound           it does not exist, or not for this actor
├── Refused            the request is understood and will not be done (a reason code says why)
│   ├── NotPermitted   this actor may not do it
│   └── IllegalMove    the state machine has no such edge
└── Stale              somebody else changed the object first: read it again
"""


class HelicaseError(Exception):
    """Something in the platform went wrong."""

    permanent = True

    def __init__(self, message: str | None = None, *, code: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip())
        self.code = code


class NotFound(HelicaseError):
    """There is no such thing here."""


class Refused(HelicaseError):
    """The request was refused."""


class NotPermitted(Refused):
    """You are not permitted to do this."""


class IllegalMove(Refused):
    """This change of state is not possible from where the object stands."""


class Stale(HelicaseError):
    """Somebody else changed this first. Reload the page and look again."""

    permanent = False
