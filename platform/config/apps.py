from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import celery, checks  # noqa: F401 -- tasks sent by any process find their broker; registers the system checks
