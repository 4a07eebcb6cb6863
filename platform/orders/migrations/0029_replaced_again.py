"""An order whose replacement came to nothing is replaced by another one; what was placed in its place before stays linked to it."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

STANDING = Q(accepted_at__isnull=False) | ~Q(state__in=("cancelled", "rejected", "entered_in_error"))


class Migration(migrations.Migration):
    dependencies = [("orders", "0028_downtimes")]
    operations = [
        migrations.AlterField(
            "order",
            "replaces",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="replacements", to="orders.order"
            ),
        ),
        migrations.AddConstraint(
            "order", models.UniqueConstraint(fields=["replaces"], condition=STANDING, name="order_replaced_once")
        ),
    ]
