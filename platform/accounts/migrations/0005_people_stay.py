"""People and organisations are never deleted, and the application changes nobody's name or address: what was printed can be told.

Of an organisation the application changes nothing; the right on its id, which is pinned, lets a service lock the row.
"""

from django.db import migrations

from foundation.protection import changeable, kept, pinned


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_memberships_end")]
    operations = [
        migrations.RunSQL(*changeable("accounts_user", "password last_login is_active responsible_id")),
        migrations.RunSQL(*pinned("accounts_user", "id")),
        migrations.RunSQL(*kept("accounts_user")),
        migrations.RunSQL(*changeable("accounts_organisation", "id")),
        migrations.RunSQL(*pinned("accounts_organisation", "id")),
        migrations.RunSQL(*kept("accounts_organisation")),
    ]
