"""Clocks of an order: by what they count, when they stood, who was told of their levels and of delays. What was is taken from events."""

from django.conf import settings
from django.db import migrations, models
import django.db.models.deletion

from foundation.protection import changeable, insert_only, pinned


BACKFILL = """
    UPDATE orders_order o SET promised_at = o.accepted_at, clock_zone = l.time_zone
        FROM accounts_organisation l WHERE l.id = o.performing_laboratory_id AND o.accepted_at IS NOT NULL;
    WITH last AS (
        SELECT DISTINCT ON (object_id) object_id::uuid AS id, action, at FROM audit_event
        WHERE object_type = 'orders.order' AND action IN ('order.promoted', 'order.demoted') ORDER BY object_id, id DESC
    )
    UPDATE orders_order o SET promised_at = last.at FROM last
        WHERE last.id = o.id AND last.action = 'order.promoted' AND o.accepted_at IS NOT NULL;
    WITH told AS (
        SELECT object_id::uuid AS id, action, reason, at, lead(at) OVER (PARTITION BY object_id ORDER BY id) AS ends FROM audit_event
        WHERE object_type = 'orders.order'
            AND action IN ('order.held', 'order.released', 'state.cancelled', 'state.rejected', 'state.reported')
    )
    INSERT INTO orders_hold (organisation_id, order_id, reason, since, until)
        SELECT o.performing_laboratory_id, o.id, told.reason, told.at, told.ends
        FROM told JOIN orders_order o ON o.id = told.id WHERE told.action = 'order.held';
    UPDATE orders_order o SET clock_stopped_at = greatest(h.since, o.accepted_at) FROM orders_hold h
        WHERE h.order_id = o.id AND h.until IS NULL AND o.hold_reason <> '' AND o.accepted_at IS NOT NULL;
    UPDATE orders_order SET escalate_at = now() WHERE ended_at IS NULL AND report_due > now();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("notices", "0001_initial"),
        ("orders", "0008_repeats"),
        ("registry", "0010_calendars"),
        ("audit", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name='DelayNotice',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('told', models.CharField(max_length=120)),
                ('means', models.CharField(choices=[('phone', 'by telephone'), ('person', 'in person'), ('message', 'by a message'), ('other', 'in another way')], max_length=10)),
                ('words', models.CharField(blank=True, max_length=300)),
                ('told_at', models.DateTimeField()),
                ('recorded_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Escalation',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('promise', models.PositiveSmallIntegerField()),
                ('clock', models.CharField(choices=[('result', 'Results'), ('report', 'Report')], max_length=6)),
                ('level', models.PositiveSmallIntegerField()),
                ('due', models.DateTimeField()),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='EscalationRule',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('clock', models.CharField(choices=[('result', 'Results'), ('report', 'Report')], max_length=6)),
                ('level', models.PositiveSmallIntegerField()),
                ('priority', models.CharField(blank=True, choices=[('stat', 'STAT'), ('asap', 'ASAP'), ('urgent', 'Urgent'), ('routine', 'Routine')], max_length=10)),
                ('channel', models.CharField(choices=[('in_app', 'on the page'), ('email', 'by e-mail'), ('webhook', 'by webhook')], max_length=10)),
                ('role', models.CharField(blank=True, choices=[('requester', 'Requester'), ('accessioner', 'Accessioner'), ('analyst', 'Analyst'), ('reviewer', 'Reviewer'), ('director', 'Laboratory director'), ('model_steward', 'Model steward'), ('auditor', 'Auditor'), ('operator', 'Operator'), ('administrator', 'Administrator'), ('service', 'Service account')], max_length=20)),
                ('created_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('reason', models.CharField(max_length=60)),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField(null=True)),
            ],
        ),
    
        migrations.AddField(
            model_name='order',
            name='calendar',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='registry.calendar'),
        ),
        migrations.AddField(
            model_name='order',
            name='clock_stopped_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='order',
            name='clock_zone',
            field=models.CharField(blank=True, db_default='', max_length=60),
        ),
        migrations.AddField(
            model_name='order',
            name='escalate_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='order',
            name='promise',
            field=models.PositiveSmallIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name='order',
            name='promised_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(condition=models.Q(('ended_at', None), ('escalate_at__isnull', False)), fields=['escalate_at'], name='order_to_escalate'),
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(fields=['performing_laboratory', 'placed_at'], name='order_of_period'),
        ),
        migrations.AddField(
            model_name='delaynotice',
            name='by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='delaynotice',
            name='order',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='delay_notices', to='orders.order'),
        ),
        migrations.AddField(
            model_name='escalation',
            name='order',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='escalations', to='orders.order'),
        ),
        migrations.AddField(
            model_name='escalationrule',
            name='endpoint',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='notices.endpoint'),
        ),
        migrations.AddField(
            model_name='escalationrule',
            name='laboratory',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.organisation'),
        ),
        migrations.AddField(
            model_name='escalationrule',
            name='person',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='hold',
            name='order',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='holds', to='orders.order'),
        ),
        migrations.AddIndex(
            model_name='delaynotice',
            index=models.Index(fields=['order', '-told_at'], name='delay_notice_of_order'),
        ),
        migrations.AddConstraint(
            model_name='delaynotice',
            constraint=models.CheckConstraint(condition=models.Q(('told_at__lte', models.F('recorded_at'))), name='told_before_recorded'),
        ),
        migrations.AddConstraint(
            model_name='escalation',
            constraint=models.UniqueConstraint(fields=('order', 'promise', 'clock', 'level'), name='one_escalation_per_level'),
        ),
        migrations.AddConstraint(
            model_name='escalation',
            constraint=models.CheckConstraint(condition=models.Q(('clock__in', ['result', 'report']), ('level__in', (50, 80, 100))), name='escalation_known'),
        ),
        migrations.AddIndex(
            model_name='escalationrule',
            index=models.Index(condition=models.Q(('ended_at', None)), fields=['laboratory', 'clock', 'level'], name='rule_open'),
        ),
        migrations.AddConstraint(
            model_name='escalationrule',
            constraint=models.CheckConstraint(condition=models.Q(('clock__in', ['result', 'report']), ('level__in', (50, 80, 100))), name='rule_known'),
        ),
        migrations.AddConstraint(
            model_name='escalationrule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('channel', 'webhook'), ('endpoint__isnull', False), ('person', None), ('role', '')), models.Q(('channel__in', ['in_app', 'email']), ('endpoint', None), models.Q(('role', ''), ('person', None), _connector='XOR')), _connector='OR'), name='rule_names_one'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.UniqueConstraint(condition=models.Q(('until', None)), fields=('order',), name='one_hold_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(('until', None), ('until__gte', models.F('since')), _connector='OR'), name='hold_ends_after_it_began'),
        ),
    
        migrations.RunSQL(*changeable("orders_hold", "until")),
        migrations.RunSQL(*pinned("orders_hold", "until", when="OLD.until IS NOT NULL", name="ended")),
        migrations.RunSQL(*insert_only("orders_escalation")),
        migrations.RunSQL(*insert_only("orders_delaynotice")),
        migrations.RunSQL(*changeable("orders_escalationrule", "ended_at")),
        migrations.RunSQL(BACKFILL, migrations.RunSQL.noop),
    ]
