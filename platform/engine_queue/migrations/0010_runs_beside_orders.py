"""Two more kinds of run, of nobody's order: common variants of a region, and one variant base by base."""

from django.db import migrations, models

KINDS = ["clinical", "repeat", "rescore", "shadow", "sentinel", "question", "background", "track"]


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0009_questions")]
    operations = [
        migrations.RemoveConstraint(model_name="run", name="run_kind_known"),
        migrations.AlterField("run", "kind", models.CharField(choices=[(one, one.capitalize()) for one in KINDS], max_length=10)),
        migrations.AddConstraint(
            model_name="run", constraint=models.CheckConstraint(condition=models.Q(kind__in=KINDS), name="run_kind_known")
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=~models.Q(kind__in=["background", "track"]) | models.Q(order_id=None, rank=4),
                name="run_beside_orders_waits_for_them",
            ),
        ),
    ]
