"""Runs without a test: questions, which are never STAT; and what an engine says beyond a sum."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

ANSWERED = Q(failure="") & (Q(ll_alt__isnull=False) | Q(answer__isnull=False)) | (~Q(failure="") & Q(delta=None))


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0008_worker_process"), ("registry", "0001_initial")]
    operations = [
        migrations.AlterField(
            "run",
            "test_version",
            models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to="registry.testversion"),
        ),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                condition=Q(test_version__isnull=False) | Q(kind="question", order_id=None, rank__gt=0),
                name="run_of_a_test_or_question",
            ),
        ),
        migrations.AddField("result", "answer", models.JSONField(null=True)),
        migrations.RemoveConstraint("result", "scored_or_failed"),
        migrations.AddConstraint("result", models.CheckConstraint(condition=ANSWERED, name="scored_or_failed")),
    ]
