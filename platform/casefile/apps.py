from django.apps import AppConfig


class CasefileConfig(AppConfig):
    name = "casefile"
    default_auto_field = "django.db.models.BigAutoField"
