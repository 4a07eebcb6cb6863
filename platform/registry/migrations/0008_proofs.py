"""The form an annotation is kept in has a digest; what files were proven to hold is remembered."""

from django.db import migrations, models

from foundation.protection import changeable, insert_only, pinned


class Migration(migrations.Migration):
    dependencies = [("registry", "0007_immutable")]
    operations = [
        migrations.AddField(
            "annotation", "form_sha256", models.CharField(blank=True, default="", max_length=64), preserve_default=False
        ),
        migrations.RunSQL(*pinned("registry_annotation", "form_sha256", when="OLD.form_sha256 <> ''", name="form_pinned")),
        migrations.RunSQL(*changeable("registry_annotation", "form_sha256 path")),
        migrations.RunSQL(*pinned("registry_annotation", "path", when="OLD.form_sha256 <> ''", name="path_pinned")),
        migrations.CreateModel(
            name="FileProof",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("path", models.TextField()),
                ("seen", models.CharField(max_length=64)),
                ("digest", models.CharField(max_length=64)),
                ("proven_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("path", "seen", "digest"), name="one_proof_per_state")],
            },
        ),
        migrations.RunSQL(*insert_only("registry_fileproof")),
    ]
