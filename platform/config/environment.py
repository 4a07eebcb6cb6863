"""The environment, typed and checked once. Nothing else reads `os.environ`."""

import logging
import re
import sys
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parents[2]


class Environment(BaseSettings):
    """Every variable Helicase understands. A missing or malformed one stops the start with its name."""

    model_config = SettingsConfigDict(extra="ignore", hide_input_in_errors=True)

    secret_key: str = Field(min_length=32)
    secret_key_fallbacks: str = ""  # former keys, separated by blanks: what they signed and sealed is still read
    database_url: str  # role helicase_app
    database_owner_url: str = ""  # role helicase_owner: migrations only
    database_pool: bool = False  # web: psycopg's pool; workers hold one connection a thread
    redis_url: str
    allowed_hosts: str = "127.0.0.1,localhost"
    public_url: str = ""  # https://…, as browsers see it
    demo: bool = False
    data_dir: Path = ROOT / ".run" / "data"
    audit_anchors: Path = ROOT / ".run" / "anchors"  # where the sealer writes heads of the audit chain down; best on another disk
    audit_key: str = ""  # the sealer signs anchors with it; empty: with one that is made from SECRET_KEY
    audit_public_keys: str = ""  # whose signatures count, 64 hexadecimal digits each, with blanks between; empty: of the keys above
    models_dir: Path = ROOT / "models"
    swap_folder: str = ""  # where engines put what gave way and has no room in memory; empty: nowhere
    engine_trace: bool = True  # engines keep what they did last, a few megabytes each, for `trace_worker`
    log_level: str = "INFO"
    email_host: str = ""  # the mail server for notices; empty: e-mail deliveries say that there is none
    email_port: int = 587
    email_user: str = ""
    email_password: str = ""
    email_tls: bool = True  # STARTTLS
    email_from: str = "helicase@localhost"
    drift_days: int = Field(default=30, ge=3)  # that a row about each result is kept; its counts stay
    webhook_private: bool = False  # webhooks may go to this network and machine, over plain HTTP too

    @classmethod
    def read(cls) -> "Environment":
        """The environment of this process."""
        return cls()  # type: ignore[call-arg]  # the variables are the arguments

    @classmethod
    def or_exit(cls) -> "Environment":
        """The environment of this process, or its end with a line for each variable that is missing or malformed."""
        try:
            return cls.read()
        except ValidationError as refused:
            lines = (f"{str(error['loc'][0]).upper()}: {error['msg']}" for error in refused.errors())
            sys.stderr.write("".join(f"helicase: {line}\n" for line in lines))
            raise SystemExit(2) from None

    @field_validator("log_level")
    @classmethod
    def _level(cls, value: str) -> str:
        if value.upper() not in logging.getLevelNamesMapping():
            raise ValueError("must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL")
        return value.upper()

    @field_validator("audit_key")
    @classmethod
    def _long(cls, value: str) -> str:
        if value and len(value) < 32:
            raise ValueError("must have 32 characters or more")
        return value

    @field_validator("audit_public_keys")
    @classmethod
    def _public(cls, value: str) -> str:
        if not all(re.fullmatch(r"[0-9a-f]{64}", one) for one in value.split()):
            raise ValueError("must be public keys of 64 hexadecimal digits, separated by blanks")
        return value

    @field_validator("models_dir")
    @classmethod
    def _folder(cls, value: Path) -> Path:
        if not value.is_dir():
            raise ValueError("there is no such folder")
        return value

    @field_validator("database_url", "database_owner_url")
    @classmethod
    def _postgres(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in {"postgres", "postgresql"}:
            raise ValueError("must begin with postgresql://")
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, value: str) -> str:
        if urlsplit(value).scheme not in {"redis", "rediss"}:
            raise ValueError("must begin with redis://")
        return value


def database(url: str, *, pool: bool = False) -> dict[str, object]:
    """Django's DATABASES entry for a postgresql:// URL."""
    parts = urlsplit(url)
    options: dict[str, object] = dict(parse_qsl(parts.query))  # sslmode and the like
    if pool:
        options["pool"] = {"min_size": 1, "max_size": 8, "timeout": 10}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or 5432),
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }
