"""An order names the site that asks, the site that performs, and the provider who asks, with his contact as it was then."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

from foundation.protection import pinned

PROTECT = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+"}
PARTIES = "ordering_site_id performing_site_id provider_id provider_name provider_contact"
MAIN = "(SELECT id FROM accounts_site WHERE organisation_id = {} AND active ORDER BY created_at, code LIMIT 1)"
FILL = f"""
    UPDATE orders_order SET ordering_site_id = {MAIN.format("ordering_organisation_id")},
        performing_site_id = {MAIN.format("performing_laboratory_id")};
    SET CONSTRAINTS ALL IMMEDIATE;
"""
# A process of before this migration names no site: it gets the main one. A site of somebody else is refused, whoever names it.
NAMED = f"""
    CREATE FUNCTION orders_order_sites() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.ordering_site_id IS NULL THEN NEW.ordering_site_id := {MAIN.format("NEW.ordering_organisation_id")}; END IF;
        IF NEW.performing_site_id IS NULL THEN NEW.performing_site_id := {MAIN.format("NEW.performing_laboratory_id")}; END IF;
        IF NOT EXISTS (SELECT 1 FROM accounts_site WHERE (id, organisation_id) = (NEW.ordering_site_id, NEW.ordering_organisation_id))
            OR NOT EXISTS (SELECT 1 FROM accounts_site WHERE (id, organisation_id) = (NEW.performing_site_id, NEW.performing_laboratory_id))
            OR NOT (NEW.provider_id IS NULL OR EXISTS
                (SELECT 1 FROM accounts_provider WHERE (id, organisation_id) = (NEW.provider_id, NEW.ordering_organisation_id)))
        THEN
            RAISE EXCEPTION 'orders_order names a site or a provider of another organisation' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_order_sites BEFORE INSERT OR UPDATE OF {", ".join(PARTIES.split()[:3])},
        ordering_organisation_id, performing_laboratory_id ON orders_order FOR EACH ROW EXECUTE FUNCTION orders_order_sites();
"""
UNDO_NAMED = "DROP TRIGGER orders_order_sites ON orders_order; DROP FUNCTION orders_order_sites();"


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0009_clocks"),
        ("accounts", "0003_sites_and_providers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.AddField("order", "ordering_site", models.ForeignKey(null=True, to="accounts.site", **PROTECT)),
        migrations.AddField("order", "performing_site", models.ForeignKey(null=True, to="accounts.site", **PROTECT)),
        migrations.AddField("order", "provider", models.ForeignKey(null=True, to="accounts.provider", **PROTECT)),
        migrations.AddField("order", "provider_name", models.CharField(blank=True, db_default="", max_length=200)),
        migrations.AddField("order", "provider_contact", models.CharField(blank=True, db_default="", max_length=200)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(NAMED, UNDO_NAMED),
        migrations.AlterField("order", "ordering_site", models.ForeignKey(to="accounts.site", **PROTECT)),
        migrations.AlterField("order", "performing_site", models.ForeignKey(to="accounts.site", **PROTECT)),
        migrations.RunSQL(*pinned("orders_order", PARTIES, when="OLD.state NOT IN ('draft', 'submitted')", name="parties_pinned")),
        migrations.AddConstraint(
            "order",
            models.CheckConstraint(
                condition=Q(provider=None) | (~Q(provider_name="") & ~Q(provider_contact="")), name="provider_named_on_order"
            ),
        ),
        migrations.AddIndex(
            "order",
            models.Index(condition=Q(provider__isnull=False), fields=["placed_by", "-placed_at"], name="order_last_provider"),
        ),
    ]
