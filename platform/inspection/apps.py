from django.apps import AppConfig


class InspectionConfig(AppConfig):
    name = "inspection"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say how an audit report that was asked for reaches a worker."""
        from inspection import claims, tasks
        from outbox import services as outbox

        outbox.handles(claims.TOPIC, tasks.deliver)
