"""A test version says how many people sign a report of each priority; and it accepts only kinds of file that there are."""

from django.db import migrations, models

import registry.models
from foundation.protection import pinned

EACH = " AND ".join(f"COALESCE(signatures ->> '{one}' IN ('1', '2'), false)" for one in ("stat", "asap", "urgent", "routine"))
POLICY = f"""
    ALTER TABLE registry_testversion
        ADD CONSTRAINT signatures_per_priority CHECK ({EACH}),
        ADD CONSTRAINT accepts_known_kinds CHECK (cardinality(accepts) > 0 AND accepts <@ ARRAY['vcf', 'fasta', 'fastq']::varchar[]);
"""
UNDO = "ALTER TABLE registry_testversion DROP CONSTRAINT signatures_per_priority, DROP CONSTRAINT accepts_known_kinds;"


class Migration(migrations.Migration):
    dependencies = [("registry", "0010_calendars")]
    operations = [
        migrations.AddField(
            "testversion",
            "signatures",
            models.JSONField(
                db_default={"stat": 1, "asap": 1, "urgent": 1, "routine": 1}, default=registry.models.one_each
            ),
        ),
        migrations.RunSQL(POLICY, UNDO),
        migrations.RunSQL(*pinned("registry_testversion", "signatures", name="signatures_pinned")),
    ]
