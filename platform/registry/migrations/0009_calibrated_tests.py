"""A test version may name the calibration table that its probabilities are read from; none: there are none."""

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import pinned


class Migration(migrations.Migration):
    dependencies = [("registry", "0008_proofs")]
    operations = [
        migrations.AddField(
            "testversion",
            "calibration",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="tests", to="registry.calibrationtable"
            ),
        ),
        migrations.RunSQL(*pinned("registry_testversion", "calibration_id", name="calibration_pinned")),
    ]
