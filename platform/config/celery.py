"""The Celery application. Queues are named per deployment; platform jobs have their own."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

from django.conf import settings

app = Celery("helicase")
app.conf.update(settings.CELERY)
app.autodiscover_tasks()
