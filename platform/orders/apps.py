from django.apps import AppConfig


class OrdersConfig(AppConfig):
    name = "orders"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to the engine queue; say how uploads are sent to be checked."""
        from engine_queue import outcomes
        from orders import (
            attention_notices,
            demotions,
            emergency,
            escalation,
            escalation_rules,
            progress,
            rejection,
            rejection_notices,
            tasks,
            uploads,
        )
        from orders.manifests import claims
        from outbox import services as outbox

        outcomes.before_run(progress.lock_order)
        outcomes.on_result(progress.apply)
        outcomes.on_result(attention_notices.hear)
        outbox.handles(uploads.TOPIC, tasks.deliver)
        outbox.handles(attention_notices.TOPIC, attention_notices.deliver)
        outbox.handles(emergency.TOPIC, emergency.deliver)
        outbox.handles(escalation.TOPIC, escalation_rules.deliver)
        outbox.handles(demotions.TOPIC, escalation_rules.deliver_demotion)
        outbox.handles(rejection.TOPIC, rejection_notices.deliver)
        outbox.handles(claims.TOPIC, tasks.deliver_manifest)
