"""The test suite: real services, cheap password hashes."""

from config.settings.base import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

WHITENOISE_AUTOREFRESH = True  # no folder of collected files in a checkout
