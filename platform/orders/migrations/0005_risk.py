"""Orders that are at risk of being late, and the tokens of runs placed before they were counted."""

from django.db import migrations, models
from django.db.models import Q

# What `orders.estimates.tokens` says: two windows a variant and strand, or the bases of a sequence, each after its `bos`.
COUNT = """
    UPDATE engine_queue_run AS run SET tokens = CASE WHEN item_set.kind = 'variant'
        THEN run.items_total::bigint * 2 * CASE WHEN run.protocol ->> 'strand' = 'average' THEN 2 ELSE 1 END
             * ((run.protocol ->> 'window')::bigint + 1)
        ELSE run.items_total + coalesce((SELECT sum(length) FROM orders_intakerecord record
                                         JOIN orders_intake intake ON intake.id = record.intake_id
                                         WHERE intake.item_set_id = run.item_set_id AND record.outcome = 'accepted'), 0) END
    FROM engine_queue_itemset AS item_set WHERE item_set.id = run.item_set_id AND run.tokens = 0;
"""


class Migration(migrations.Migration):
    dependencies = [("orders", "0004_priority_reason"), ("engine_queue", "0005_whereabouts")]
    operations = [
        migrations.AddField("order", "risk", models.CharField(blank=True, db_default="", max_length=10)),
        migrations.AddField("order", "risk_since", models.DateTimeField(null=True)),
        migrations.AddIndex("order", models.Index(condition=~Q(risk=""), fields=["risk"], name="order_at_risk")),
        migrations.AddConstraint(
            "order",
            models.CheckConstraint(
                condition=Q(risk="") | Q(risk__in=["at_risk", "late"], scored_at=None, ended_at=None), name="risk_ends_with_results"
            ),
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
