"""What was asked never changes; what came of a report is written by the move that ends it, and is never deleted."""

from django.db import migrations

from foundation.protection import changeable, pinned
from inspection.machines import AUDIT_REPORT

WHILE_MADE = "state version claim claimed_at tries rows_done rows_total ended_at shown pack_id"


class Migration(migrations.Migration):
    dependencies = [("inspection", "0001_initial")]
    operations = [
        migrations.RunSQL(*AUDIT_REPORT.trigger()),
        migrations.RunSQL(*changeable("inspection_auditreport", WHILE_MADE)),
        migrations.RunSQL(*pinned("inspection_auditreport", "pack_id shown ended_at", when="OLD.state IN ('made', 'failed', 'withdrawn')")),
    ]
