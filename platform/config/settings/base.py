"""Settings common to all environments."""

import logging
from pathlib import Path
from typing import Any

import structlog
from csp.constants import SELF
from django.db.backends.postgresql.psycopg_any import IsolationLevel

from config import log_lines
from config.environment import ROOT, Environment, database

env = Environment.or_exit()

BASE_DIR = ROOT
SECRET_KEY = env.secret_key
SECRET_KEY_FALLBACKS = env.secret_key_fallbacks.split()
DEBUG = False
DEMO = env.demo
ALLOWED_HOSTS = [h for h in env.allowed_hosts.split(",") if h]
CSRF_TRUSTED_ORIGINS = [env.public_url] if env.public_url else []
DATA_DIR: Path = env.data_dir
AUDIT_ANCHORS: Path = env.audit_anchors
AUDIT_KEY = env.audit_key
AUDIT_PUBLIC_KEYS = env.audit_public_keys.split()
MODELS_DIR: Path = env.models_dir
SWAP_FOLDER: str = env.swap_folder
ENGINE_TRACE: bool = env.engine_trace
REDIS_URL = env.redis_url
PUBLIC_URL = env.public_url
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST, EMAIL_PORT, EMAIL_USE_TLS = env.email_host, env.email_port, env.email_tls
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = env.email_user, env.email_password
DEFAULT_FROM_EMAIL = env.email_from
WEBHOOK_PRIVATE = env.webhook_private
DRIFT_DAYS = env.drift_days

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "channels",
    "csp",
    "audit.apps.AuditConfig",
    "outbox.apps.OutboxConfig",
    "storage.apps.StorageConfig",
    "accounts.apps.AccountsConfig",
    "notices.apps.NoticesConfig",
    "registry.apps.RegistryConfig",
    "engine_queue.apps.EngineQueueConfig",
    "orders.apps.OrdersConfig",
    "reports.apps.ReportsConfig",
    "drift.apps.DriftConfig",
    "questions.apps.QuestionsConfig",
    "inspection.apps.InspectionConfig",
    "casefile.apps.CasefileConfig",
    "oversight.apps.OversightConfig",
    "interop.apps.InteropConfig",
    "dashboard.apps.DashboardConfig",
    "config.apps.ConfigConfig",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.LoginRequired",
    "accounts.middleware.ActorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.context.navigation",
            ],
        },
    }
]

DATABASES: dict[str, dict[str, Any]] = {"default": database(env.database_url, pool=env.database_pool)}
DATABASES["default"]["OPTIONS"]["isolation_level"] = IsolationLevel.READ_COMMITTED
if env.database_owner_url:
    DATABASES["owner"] = database(env.database_owner_url)

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["accounts.backends.PeopleOnly"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "worklist"
LOGOUT_REDIRECT_URL = "login"
SESSION_ENGINE = "config.session_store"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-gb"
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "static/"
STATIC_ROOT = ROOT / "staticfiles"
STATICFILES_DIRS = [ROOT / "static"]
WHITENOISE_USE_FINDERS = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
UPLOAD_LIMIT = 512 * 1024 * 1024  # bytes of one upload
INTAKE_QUEUES = ("intake", "intake-large")  # a large file never holds up the check of a small one
INTAKE_LARGE = 1_000_000  # bytes, as uploaded
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024  # pasted text
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": [SELF],
        "frame-ancestors": ["'none'"],
    }
}

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        # redis-py's default socket_timeout equals the layer's blocking time, and idle sockets would die
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}], "prefix": "helicase"},
    }
}

CELERY = {
    "broker_url": REDIS_URL,
    "task_ignore_result": True,
    "task_acks_late": True,
    "task_reject_on_worker_lost": True,
    "task_default_queue": "platform",
    "worker_send_task_events": False,
    "worker_prefetch_multiplier": 1,
    "broker_connection_retry_on_startup": True,
    "broker_transport_options": {"visibility_timeout": 3600, "socket_timeout": 30, "socket_connect_timeout": 5},
    "worker_hijack_root_logger": False,
    "timezone": "UTC",
}

structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(log_lines.traceback_of),
        log_lines.event_without_values,
        structlog.processors.JSONRenderer(),
    ],
    wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping().get(env.log_level.upper(), logging.INFO)),
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "config.log_lines.Formatter"},
        "server": {"()": "config.log_lines.Formatter", "fmt": "%(levelname)s:    %(message)s"},
    },
    "filters": {"without_query": {"()": "config.log_lines.WithoutQuery"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line"},
        "server": {"class": "logging.StreamHandler", "formatter": "server"},
    },
    "root": {"handlers": ["console"], "level": env.log_level.upper()},
    # uvicorn sets its own handlers and levels up, before it loads the application: the levels stay, and so each has to be named
    "loggers": {
        "django.request": {"level": "ERROR"},  # a 403 or 404 is in the access log; its traceback would bury the real faults
        "uvicorn": {"handlers": ["server"], "propagate": False},
        "uvicorn.error": {},
        "uvicorn.access": {"handlers": ["server"], "filters": ["without_query"], "propagate": False},
    },
}
