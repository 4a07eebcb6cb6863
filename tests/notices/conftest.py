"""A house for webhooks and e-mails."""

import pytest

from accounts.roles import Role
from tests.factories import make_actor, make_laboratory


@pytest.fixture
def house(settings):
    """A laboratory with an administrator, where webhooks may stay in the house."""
    settings.WEBHOOK_PRIVATE, settings.PUBLIC_URL = True, "https://helicase.example"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_USE_TLS = False
    laboratory = make_laboratory()
    return laboratory, make_actor(role=Role.ADMINISTRATOR, organisation=laboratory)
