from django.apps import AppConfig


class DriftConfig(AppConfig):
    name = "drift"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to the engine queue; say who hears of a call."""
        from drift import calls, recording
        from engine_queue import outcomes
        from outbox import services as outbox

        outcomes.on_result(recording.hear)
        outbox.handles(calls.TOPIC, calls.deliver)
