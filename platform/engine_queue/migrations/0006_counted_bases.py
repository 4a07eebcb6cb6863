"""Keep with each result over how many bases its sums are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0005_whereabouts")]
    operations = [migrations.AddField("result", "bases", models.PositiveIntegerField(null=True))]
