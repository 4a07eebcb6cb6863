"""A membership ends and stays ended; it is neither changed nor deleted, so that who could do what and when can be told."""

from django.db import migrations

from foundation.protection import changeable, kept, pinned

TABLE = "accounts_membership"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_sites_and_providers")]
    operations = [
        migrations.RunSQL(*changeable(TABLE, "ended_at")),
        migrations.RunSQL(*pinned(TABLE, "user_id organisation_id role granted_at")),
        migrations.RunSQL(*pinned(TABLE, "ended_at", when="OLD.ended_at IS NOT NULL", name="ended")),
        migrations.RunSQL(*kept(TABLE)),
    ]
