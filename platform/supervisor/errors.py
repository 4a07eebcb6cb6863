"""SetupError                 somebody has to change something on the machine or in the environment
├── ExternalServiceError      DATABASE_URL or REDIS_URL does not lead to a usable service
├── ServiceError              an embedded service did not start
├── ProcessError              a process of the platform failed, or keeps dying
└── AlreadyRunningError       a second `make up` in one checkout
"""


class SetupError(Exception):
    """The set-up cannot go on."""

    permanent = True
    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class ExternalServiceError(SetupError):
    """An external service cannot be used."""


class ServiceError(SetupError):
    """An embedded service did not start."""

    permanent = False
    exit_code = 1


class ProcessError(SetupError):
    """A process of the platform failed."""

    permanent = False
    exit_code = 1


class AlreadyRunningError(SetupError):
    """Helicase is already running from this folder."""
