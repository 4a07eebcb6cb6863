"""`make up` on one machine: plain HTTP on loopback, everything else as in production."""

from config.settings.base import *  # noqa: F403

WHITENOISE_AUTOREFRESH = True  # no folder of collected files in a checkout
