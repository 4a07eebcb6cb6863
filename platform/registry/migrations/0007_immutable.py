"""No column of what results are pinned to can be changed by the application, but for those that are filled once and `offered`.

Where a file lies is for the owner of the database to change, when an operator has moved it.
"""

from django.db import migrations

from foundation.protection import changeable, kept, pinned


class Migration(migrations.Migration):
    dependencies = [("registry", "0006_calibration")]
    operations = [
        migrations.RunSQL(*pinned("registry_modelversion", "id created_at", name="row_pinned")),
        migrations.RunSQL(*changeable("registry_modelversion", "digest files card card_sha256")),
        migrations.RunSQL(
            *pinned("registry_deployment", "fingerprint golden", when="OLD.fingerprint <> '' OR OLD.golden <> ''", name="bits_pinned")
        ),
        migrations.RunSQL(*pinned("registry_deployment", "created_at", name="row_pinned")),
        migrations.RunSQL(*changeable("registry_deployment", "fingerprint golden")),
        migrations.RunSQL(*pinned("registry_reference", "id name description", name="row_pinned")),
        migrations.RunSQL(*changeable("registry_reference")),
        migrations.RunSQL(*pinned("registry_annotation", "id created_at", name="row_pinned")),
        migrations.RunSQL(*changeable("registry_annotation")),
        migrations.RunSQL(*pinned("registry_testdefinition", "id laboratory_id code name")),
        migrations.RunSQL(*kept("registry_testdefinition")),
        migrations.RunSQL(*pinned("registry_testversion", "id created_at", name="row_pinned")),
        migrations.RunSQL(*changeable("registry_testversion", "offered")),
    ]
