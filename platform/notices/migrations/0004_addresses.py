"""E-mail to somebody who has no account: an address in the place of a person."""

from django.db import migrations, models
from django.db.models import Q

NAMED = models.UniqueConstraint(
    fields=["notice", "channel", "user", "endpoint", "address"], name="one_delivery", nulls_distinct=False
)
ADDRESSED = models.CheckConstraint(
    condition=(Q(channel="email", endpoint=None) & (Q(user=None) ^ Q(address="")))
    | Q(channel="webhook", endpoint__isnull=False, user=None, address=""),
    name="delivery_has_an_address",
)


class Migration(migrations.Migration):
    dependencies = [("notices", "0003_sealed_secrets")]
    operations = [
        migrations.AddField("delivery", "address", models.EmailField(blank=True, db_default="", default="", max_length=254)),
        migrations.RemoveConstraint("delivery", "one_delivery"),
        migrations.RemoveConstraint("delivery", "delivery_has_an_address"),
        migrations.AddConstraint("delivery", NAMED),
        migrations.AddConstraint("delivery", ADDRESSED),
    ]
