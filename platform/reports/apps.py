from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to the engine queue and to cancellations; say who hands over deliveries, and hear what became of their e-mails."""
        from engine_queue import outcomes as results
        from notices import outcomes as mails
        from orders import endings
        from outbox import services as outbox
        from reports import backgrounds, critical_notices, delivering, delivery_notices

        results.on_result(backgrounds.hear)
        endings.on_cancel(delivering.hear)
        mails.on_end(delivery_notices.hear)
        outbox.handles(delivering.TOPIC, delivery_notices.deliver)
        outbox.handles(critical_notices.TOPIC, critical_notices.deliver)
