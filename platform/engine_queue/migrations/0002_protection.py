"""Postgres refuses what the state machines refuse; results are written once."""

from django.db import migrations

from engine_queue.machines import JOB, RUN
from foundation.machine import insert_only


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0001_initial")]
    operations = [
        migrations.RunSQL(*RUN.trigger()),
        migrations.RunSQL(*JOB.trigger()),
        migrations.RunSQL(*insert_only("engine_queue_result")),
    ]
