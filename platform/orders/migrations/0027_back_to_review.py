"""An order awaits its review again when what was signed first is taken back."""

from django.db import migrations

from orders.machines import ORDER


class Migration(migrations.Migration):
    dependencies = [("orders", "0026_labels")]
    operations = [migrations.RunSQL(ORDER.trigger()[1] + ORDER.trigger()[0], migrations.RunSQL.noop)]
