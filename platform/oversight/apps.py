from django.apps import AppConfig


class OversightConfig(AppConfig):
    name = "oversight"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say how checks are sent to a worker, and who hears of what they found."""
        from outbox import services as outbox
        from oversight import checks, tasks, telling

        outbox.handles(checks.TOPIC, tasks.deliver)
        outbox.handles(telling.TOPIC, telling.deliver)
