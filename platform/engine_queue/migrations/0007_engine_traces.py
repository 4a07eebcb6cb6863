"""Let a person ask a worker for what its engine did last."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0006_counted_bases")]
    operations = [
        migrations.AddField("errand", "trace_seconds", models.FloatField(default=0, db_default=0)),
        migrations.AddField("errand", "trace", models.BinaryField(null=True)),
        migrations.RemoveConstraint("errand", "errand_verb_known"),
        migrations.AddConstraint(
            "errand", models.CheckConstraint(condition=Q(verb__in=["load", "unload", "trace"]), name="errand_verb_known")
        ),
    ]
