"""Sites of an organisation, the first one by the database itself; and the providers who ask its orders."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

import accounts.models

ORGANISATION = {"on_delete": django.db.models.deletion.PROTECT, "to": "accounts.organisation"}
KEY = {"default": uuid.uuid4, "editable": False, "primary_key": True, "serialize": False}
# Whoever makes an organisation, by whichever door: an order has to name a site of it.
FIRST = """
    CREATE FUNCTION accounts_organisation_first_site() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO accounts_site (id, organisation_id, code, name, address, phone, time_zone, active, version, created_at)
            VALUES (gen_random_uuid(), NEW.id, 'main', NEW.name, NEW.address, NEW.phone, NEW.time_zone, true, 1, now());
        RETURN NULL;
    END $$;
    CREATE TRIGGER accounts_organisation_first_site AFTER INSERT ON accounts_organisation
        FOR EACH ROW EXECUTE FUNCTION accounts_organisation_first_site();
    INSERT INTO accounts_site (id, organisation_id, code, name, address, phone, time_zone, active, version, created_at)
        SELECT gen_random_uuid(), id, 'main', name, address, phone, time_zone, true, 1, now() FROM accounts_organisation;
"""
UNDO_FIRST = """
    DROP TRIGGER accounts_organisation_first_site ON accounts_organisation;
    DROP FUNCTION accounts_organisation_first_site();
"""
KEPT = "REVOKE DELETE, TRUNCATE ON accounts_site, accounts_provider FROM helicase_app;"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_api_tokens")]
    operations = [
        migrations.CreateModel(
            "Site",
            [
                ("id", models.UUIDField(**KEY)),
                ("code", models.SlugField(max_length=40)),
                ("name", models.CharField(max_length=200)),
                ("address", models.TextField(blank=True)),
                ("phone", models.CharField(blank=True, max_length=60)),
                ("time_zone", models.CharField(default="UTC", max_length=60, validators=[accounts.models.validate_zone])),
                ("active", models.BooleanField(default=True)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("organisation", models.ForeignKey(related_name="sites", **ORGANISATION)),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("organisation", "code"), name="one_site_per_code")]},
        ),
        migrations.CreateModel(
            "Provider",
            [
                ("id", models.UUIDField(**KEY)),
                ("name", models.CharField(max_length=200)),
                ("identifier_system", models.CharField(blank=True, max_length=120)),
                ("identifier", models.CharField(blank=True, max_length=80)),
                ("department", models.CharField(blank=True, max_length=120)),
                ("phone", models.CharField(max_length=60)),
                ("alternative", models.CharField(blank=True, max_length=120)),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("active", models.BooleanField(default=True)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("organisation", models.ForeignKey(related_name="providers", **ORGANISATION)),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="providers",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=~Q(identifier=""),
                        fields=("organisation", "identifier_system", "identifier"),
                        name="one_provider_per_identifier",
                    ),
                    models.UniqueConstraint(
                        condition=Q(active=True, user__isnull=False), fields=("organisation", "user"), name="one_provider_per_user"
                    ),
                    models.CheckConstraint(condition=~Q(phone=""), name="provider_can_be_called"),
                ]
            },
        ),
        migrations.RunSQL(FIRST, UNDO_FIRST),
        migrations.RunSQL(KEPT, migrations.RunSQL.noop),
    ]
