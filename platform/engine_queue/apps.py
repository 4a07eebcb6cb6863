from django.apps import AppConfig


class EngineQueueConfig(AppConfig):
    name = "engine_queue"
    default_auto_field = "django.db.models.BigAutoField"
