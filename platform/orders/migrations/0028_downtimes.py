"""Downtimes, late entries, STAT lists that were read and lines to reconcile: what the code refuses of them, the database refuses."""

import datetime
import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
from django.conf import settings
from django.db import migrations, models

from foundation.protection import changeable, insert_only, kept, pinned
from orders.machines import DOWNTIME

# What belongs to a downtime is written while it is open; whoever closes it waits for who writes.
OF_AN_OPEN_ONE = "SELECT * INTO d FROM orders_downtime WHERE id = NEW.downtime_id FOR SHARE;"
REFUSE = "RAISE EXCEPTION '%s' USING ERRCODE = 'check_violation';"
LATE = f"""
    CREATE FUNCTION orders_lateentry_bounds() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE d orders_downtime; o orders_order;
    BEGIN
        {OF_AN_OPEN_ONE}
        SELECT * INTO o FROM orders_order WHERE id = NEW.order_id;
        IF d.state <> 'open' OR d.organisation_id <> NEW.organisation_id OR NEW.requested_at < d.began_at
            OR NEW.requested_at > coalesce(d.ended_at, NEW.entered_at) OR NEW.entered_at > coalesce(d.entries_until, NEW.entered_at) THEN
            {REFUSE % "a late entry lies within an open downtime of its laboratory"}
        END IF;
        IF o.performing_laboratory_id <> NEW.organisation_id OR o.accepted_at IS NOT NULL OR o.placed_at <> NEW.entered_at
            OR o.placed_by_id IS DISTINCT FROM NEW.entered_by_id THEN
            {REFUSE % "a late entry is made with its order"}
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_lateentry_bounds BEFORE INSERT ON orders_lateentry
        FOR EACH ROW EXECUTE FUNCTION orders_lateentry_bounds();
"""
UNDO_LATE = "DROP TRIGGER orders_lateentry_bounds ON orders_lateentry; DROP FUNCTION orders_lateentry_bounds();"
LINE = f"""
    CREATE FUNCTION orders_downtimeline_open() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE d orders_downtime;
    BEGIN
        {OF_AN_OPEN_ONE}
        IF d.state <> 'open' OR d.organisation_id <> NEW.organisation_id OR (TG_OP = 'INSERT' AND NEW.ticked_at IS NOT NULL) THEN
            {REFUSE % "a line of an open downtime begins without a tick"}
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_downtimeline_open BEFORE INSERT OR UPDATE ON orders_downtimeline
        FOR EACH ROW EXECUTE FUNCTION orders_downtimeline_open();
"""
UNDO_LINE = "DROP TRIGGER orders_downtimeline_open ON orders_downtimeline; DROP FUNCTION orders_downtimeline_open();"
CLOSING = f"""
    CREATE FUNCTION orders_downtime_closing() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.state = 'closed' AND OLD.state = 'open' AND (NEW.ended_at IS NULL
            OR EXISTS (SELECT 1 FROM orders_downtimeline l WHERE l.downtime_id = NEW.id AND l.ticked_at IS NULL)) THEN
            {REFUSE % "a downtime is closed when it is over and all its lines are ticked"}
        END IF;
        IF NEW.state = 'withdrawn' AND OLD.state = 'open'
            AND EXISTS (SELECT 1 FROM orders_lateentry l WHERE l.downtime_id = NEW.id) THEN
            {REFUSE % "a downtime with late entries is not withdrawn"}
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_downtime_closing BEFORE UPDATE ON orders_downtime
        FOR EACH ROW EXECUTE FUNCTION orders_downtime_closing();
"""
UNDO_CLOSING = "DROP TRIGGER orders_downtime_closing ON orders_downtime; DROP FUNCTION orders_downtime_closing();"
# An accepted order counts from its acceptance, or from when it was taken on paper, and from nothing else.
COUNTED = f"""
    CREATE FUNCTION orders_order_counted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.accepted_at IS NULL AND NEW.accepted_at IS NOT NULL AND NEW.promised_at IS DISTINCT FROM
            coalesce((SELECT l.requested_at FROM orders_lateentry l WHERE l.order_id = NEW.id), NEW.accepted_at) THEN
            {REFUSE % "orders_order counts from its acceptance, or from its request on paper"}
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER orders_order_counted BEFORE UPDATE OF accepted_at ON orders_order
        FOR EACH ROW EXECUTE FUNCTION orders_order_counted();
"""
UNDO_COUNTED = "DROP TRIGGER orders_order_counted ON orders_order; DROP FUNCTION orders_order_counted();"
MOVED_ON = "NEW.read_at < OLD.read_at OR NEW.read_at > OLD.read_at + interval '2 minutes'"
OF_A_DOWNTIME = "state version ended_at entries_until closed_at closed_by_id closing_words"


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_step_up'),
        ('orders', '0027_back_to_review'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='StatList',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('began_at', models.DateTimeField()),
                ('read_at', models.DateTimeField()),
                ('orders', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.organisation')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Downtime',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('what', models.CharField(choices=[('everything', 'Helicase as a whole'), ('pages', 'The pages'), ('interfaces', 'API and FHIR'), ('scoring', 'The scoring of orders'), ('network', 'The network of the house'), ('other', 'Something else, in words')], max_length=12)),
                ('words', models.CharField(max_length=300)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('entries_until', models.DateTimeField(null=True)),
                ('state', models.CharField(default='open', max_length=10)),
                ('version', models.PositiveIntegerField(default=1)),
                ('opened_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('closing_words', models.CharField(blank=True, max_length=300)),
                ('closed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('opened_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='downtimes', to='accounts.organisation')),
                ('stat_list', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.statlist')),
            ],
        ),
        migrations.CreateModel(
            name='DowntimeLine',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('kind', models.CharField(choices=[('on_list', 'On the last STAT list'), ('in_progress', 'In progress when it began'), ('entered_late', 'Entered late'), ('no_specimen', 'Entered late without a specimen'), ('number_twice', 'A number that was entered twice'), ('told', 'Told by telephone'), ('noted', 'Noted by a person')], max_length=12)),
                ('key', models.CharField(max_length=80)),
                ('words', models.CharField(blank=True, max_length=300)),
                ('added_at', models.DateTimeField()),
                ('ticked_at', models.DateTimeField(null=True)),
                ('note', models.CharField(blank=True, max_length=300)),
                ('added_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('downtime', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='orders.downtime')),
                ('order', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.order')),
                ('other', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.order')),
                ('ticked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ticked_at', None)), fields=['downtime'], name='downtime_line_open')],
                'constraints': [models.UniqueConstraint(fields=('downtime', 'kind', 'key'), name='one_line_per_matter'), models.CheckConstraint(condition=models.Q(('kind__in', ['on_list', 'in_progress', 'entered_late', 'no_specimen', 'number_twice', 'told', 'noted'])), name='downtime_line_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('note', ''), ('ticked_at', None), ('ticked_by', None)), models.Q(('ticked_at__isnull', False), ('ticked_by__isnull', False), models.Q(('note', ''), _negated=True)), _connector='OR'), name='downtime_line_ticked_by_somebody')],
            },
        ),
        migrations.CreateModel(
            name='LateEntry',
            fields=[
                ('order', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='late_entry', serialize=False, to='orders.order')),
                ('organisation_id', models.UUIDField()),
                ('requested_at', models.DateTimeField()),
                ('received_at', models.DateTimeField(null=True)),
                ('taken_by_name', models.CharField(blank=True, max_length=120)),
                ('reason', models.CharField(choices=[('unreachable', 'Helicase could not be reached'), ('interface', 'The interface did not take it'), ('login', 'Nobody could log in'), ('found', 'The paper was found only later'), ('other', 'Another reason, in words')], max_length=12)),
                ('words', models.CharField(blank=True, max_length=300)),
                ('entered_at', models.DateTimeField()),
                ('downtime', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='late_entries', to='orders.downtime')),
                ('entered_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('taken_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['organisation_id', 'requested_at'], name='late_entry_of_period')],
                'constraints': [models.CheckConstraint(condition=models.Q(('reason__in', ['unreachable', 'interface', 'login', 'found', 'other']), models.Q(models.Q(('reason', 'other'), _negated=True), models.Q(('words', ''), _negated=True), _connector='OR')), name='late_entry_says_why'), models.CheckConstraint(condition=models.Q(models.Q(('taken_by', None), models.Q(('taken_by_name', ''), _negated=True)), models.Q(('taken_by__isnull', False), ('taken_by_name', '')), _connector='OR'), name='late_entry_taken_by_one'), models.CheckConstraint(condition=models.Q(('requested_at__lte', models.F('entered_at')), models.Q(('received_at', None), ('received_at__lte', models.F('entered_at')), _connector='OR')), name='late_entry_is_of_the_past')],
            },
        ),
        migrations.AddIndex(
            model_name='statlist',
            index=models.Index(fields=['organisation', '-read_at'], name='stat_list_latest'),
        ),
        migrations.AddConstraint(
            model_name='statlist',
            constraint=models.CheckConstraint(condition=models.Q(('read_at__gte', models.F('began_at'))), name='stat_list_read_after_it_began'),
        ),
        migrations.AddIndex(
            model_name='downtime',
            index=models.Index(fields=['organisation', '-began_at'], name='downtime_of_laboratory'),
        ),
        migrations.AddConstraint(
            model_name='downtime',
            constraint=models.UniqueConstraint(fields=('organisation', 'number'), name='one_downtime_per_number'),
        ),
        migrations.AddConstraint(
            model_name='downtime',
            constraint=models.CheckConstraint(condition=models.Q(('what__in', ['everything', 'pages', 'interfaces', 'scoring', 'network', 'other']), models.Q(('words', ''), _negated=True)), name='downtime_says_what_and_why'),
        ),
        migrations.AddConstraint(
            model_name='downtime',
            constraint=models.CheckConstraint(condition=models.Q(('began_at__gte', django.db.models.expressions.CombinedExpression(models.F('opened_at'), '-', models.Value(datetime.timedelta(days=60)))), ('began_at__lte', models.F('opened_at'))), name='downtime_began_before_its_record'),
        ),
        migrations.AddConstraint(
            model_name='downtime',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('entries_until', None)), models.Q(('ended_at__gt', models.F('began_at')), ('entries_until__gte', models.F('ended_at')), ('entries_until__lte', django.db.models.expressions.CombinedExpression(models.F('ended_at'), '+', models.Value(datetime.timedelta(days=60))))), _connector='OR'), name='downtime_ends_after_it_began'),
        ),
        migrations.AddConstraint(
            model_name='downtime',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('closed_at', None), ('closed_by', None), ('state', 'open')), models.Q(('closed_at__isnull', False), ('closed_by__isnull', False), ('state__in', ['closed', 'withdrawn']), models.Q(('closing_words', ''), _negated=True)), _connector='OR'), name='downtime_closed_by_somebody'),
        ),
        migrations.RunSQL(*DOWNTIME.trigger()),
        migrations.RunSQL(*changeable("orders_downtime", OF_A_DOWNTIME)),
        migrations.RunSQL(*pinned("orders_downtime", OF_A_DOWNTIME, when="OLD.state <> 'open'", name="settled")),
        migrations.RunSQL(*pinned("orders_downtime", "ended_at entries_until", when="OLD.ended_at IS NOT NULL", name="ended")),
        migrations.RunSQL(*kept("orders_downtime")),
        migrations.RunSQL(CLOSING, UNDO_CLOSING),
        migrations.RunSQL(*insert_only("orders_lateentry")),
        migrations.RunSQL(LATE, UNDO_LATE),
        migrations.RunSQL(COUNTED, UNDO_COUNTED),
        migrations.RunSQL(*changeable("orders_downtimeline", "ticked_at ticked_by_id note")),
        migrations.RunSQL(*pinned("orders_downtimeline", "ticked_at ticked_by_id note", when="OLD.ticked_at IS NOT NULL")),
        migrations.RunSQL(*kept("orders_downtimeline")),
        migrations.RunSQL(LINE, UNDO_LINE),
        migrations.RunSQL(*changeable("orders_statlist", "read_at orders")),
        migrations.RunSQL(*pinned("orders_statlist", "read_at orders", when=MOVED_ON, name="moved_on")),
        migrations.RunSQL(*kept("orders_statlist")),
    ]
