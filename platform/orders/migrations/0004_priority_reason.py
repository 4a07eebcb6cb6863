"""Why somebody changed the priority of an order."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0003_baselines")]
    operations = [migrations.AddField("order", "priority_reason", models.CharField(blank=True, default="", db_default="", max_length=300))]
