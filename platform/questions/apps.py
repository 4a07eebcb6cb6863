from django.apps import AppConfig


class QuestionsConfig(AppConfig):
    name = "questions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to the engine queue."""
        from engine_queue import outcomes
        from questions import progress

        outcomes.before_run(progress.lock_question)
        outcomes.on_result(progress.apply)
