"""Configuration: settings, URLs, ASGI, Celery, the typed environment, and the commands that start processes."""
