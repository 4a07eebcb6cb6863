"""Which order an order repeats, and an index to find specimens by their label."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0007_demotions")]
    operations = [
        migrations.AddField(
            "order",
            "repeats",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="repeated_by", to="orders.order"
            ),
        ),
        migrations.AddIndex("specimen", models.Index(fields=["organisation", "identifier"], name="specimen_label")),
    ]
