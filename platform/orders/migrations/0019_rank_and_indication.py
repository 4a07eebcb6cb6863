"""The rank by which an order is served is that of its priority; why it was asked stays as it was accepted; an ended rule stays ended."""

from functools import reduce
from operator import or_

from django.db import migrations, models
from django.db.models import Q

from foundation.protection import pinned

RANKS = {"stat": 0, "asap": 1, "urgent": 2, "routine": 3}


class Migration(migrations.Migration):
    dependencies = [("orders", "0018_identity_protection")]
    operations = [
        migrations.AddConstraint(
            "order",
            models.CheckConstraint(
                condition=reduce(or_, (Q(priority=priority, rank=rank) for priority, rank in RANKS.items())), name="rank_of_priority"
            ),
        ),
        migrations.RunSQL(
            *pinned("orders_order", "indication", when="OLD.state NOT IN ('draft', 'submitted')", name="indication_pinned")
        ),
        migrations.RunSQL(*pinned("orders_escalationrule", "ended_at", when="OLD.ended_at IS NOT NULL", name="ended")),
    ]
