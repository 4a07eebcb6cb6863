"""A draft and a superseded version can turn out to be entered in error, not only one that stands."""

from django.db import migrations

from reports.machines import REPORT


class Migration(migrations.Migration):
    dependencies = [("reports", "0002_protection")]
    operations = [migrations.RunSQL(REPORT.trigger()[1] + REPORT.trigger()[0], migrations.RunSQL.noop)]
