from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to the engine queue."""
        from engine_queue import outcomes
        from reports import backgrounds

        outcomes.on_result(backgrounds.hear)
