"""The baseline of a reference: counts of a Markov chain, written once."""

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import insert_only


class Migration(migrations.Migration):
    dependencies = [("registry", "0003_model_bytes")]
    operations = [
        migrations.CreateModel(
            name="MarkovTable",
            fields=[
                (
                    "reference",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name="markov",
                        serialize=False, to="registry.reference",
                    ),
                ),
                ("order", models.PositiveSmallIntegerField()),
                ("counts", models.BinaryField()),
                ("sha256", models.CharField(max_length=64)),
            ],
        ),
        migrations.RunSQL(*insert_only("registry_markovtable")),
    ]
