"""By what the kernel tells the process of a worker from every other one, whatever the clock says."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0007_engine_traces")]
    operations = [migrations.AddField("worker", "process", models.CharField(blank=True, db_default="", default="", max_length=80))]
