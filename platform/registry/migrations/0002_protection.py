"""What results are pinned to is added, never exchanged: a new version is a new row. Only where a file lies may change."""

from django.db import migrations

from foundation.protection import kept, pinned


class Migration(migrations.Migration):
    dependencies = [("registry", "0001_initial")]
    operations = [
        migrations.RunSQL(*pinned("registry_modelversion", "name version weights_sha256 tokenizer_sha256")),
        migrations.RunSQL(*kept("registry_modelversion")),
        migrations.RunSQL(*pinned("registry_deployment", "name model_version_id precision pin")),
        migrations.RunSQL(*kept("registry_deployment")),
        migrations.RunSQL(*pinned("registry_reference", "digest contigs")),
        migrations.RunSQL(*kept("registry_reference")),
        migrations.RunSQL(
            *pinned(
                "registry_testversion",
                "definition_id number accepts reference_id deployment_id protocol sla_minutes intended_use limitations",
            )
        ),
        migrations.RunSQL(*kept("registry_testversion")),
    ]
