"""What workers say of the jobs they hold, and how many tokens a run has."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("engine_queue", "0005_item_ends")]
    operations = [
        migrations.AddField("run", "tokens", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField("job", "engine_state", models.CharField(blank=True, db_default="", max_length=10)),
        migrations.AddField("job", "began_at", models.DateTimeField(null=True)),
        migrations.AddField("job", "finish_low", models.DateTimeField(null=True)),
        migrations.AddField("job", "finish_high", models.DateTimeField(null=True)),
        migrations.AddField("job", "engine_ahead", models.PositiveIntegerField(null=True)),
        migrations.AddField("job", "reported_at", models.DateTimeField(null=True)),
        migrations.AddField("job", "pauses", models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
    ]
