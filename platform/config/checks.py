"""System checks on what the typed environment cannot see by itself."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

DEMO_DOMAIN = "demo.helicase.example"


@register(Tags.security)
def demo_is_not_production(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """Demo people never exist in production."""
    if settings.DEMO and settings.SETTINGS_MODULE == "config.settings.production":
        return [Error("DEMO=1 is not possible with production settings", hint="Unset DEMO.", id="helicase.E001")]
    return []


@register(Tags.database)
def demo_people_only_in_demo(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """A database with active demo people may only be used with DEMO=1."""
    if settings.DEMO or "default" not in (databases or ()):
        return []
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT to_regclass('accounts_user') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return []
        cursor.execute("SELECT count(*) FROM accounts_user WHERE is_active AND email LIKE %s", [f"%@{DEMO_DOMAIN}"])
        found = cursor.fetchone()[0]
    if not found:
        return []
    hint = "Set DEMO=1 on a demonstration system, or end their access: manage.py demo_passwords --deactivate"
    return [Error(f"{found} demo people are active although DEMO is not 1", hint=hint, id="helicase.E002")]
