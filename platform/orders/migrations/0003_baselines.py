"""Baselines beside the scores of an order's items; pinned with the verdicts."""

from django.db import migrations, models

from foundation.protection import pinned

ORDERED = "EXISTS (SELECT 1 FROM orders_order WHERE intake_id = OLD.intake_id)"


class Migration(migrations.Migration):
    dependencies = [("orders", "0002_protection"), ("registry", "0005_annotations")]
    operations = [
        migrations.AddField("intakerecord", "markov_delta", models.FloatField(null=True)),
        migrations.AddField("intakerecord", "consequence", models.TextField(blank=True, default=""), preserve_default=False),
        migrations.RunSQL(*pinned("orders_intakerecord", "markov_delta consequence", when=ORDERED, name="baselines_pinned")),
    ]
