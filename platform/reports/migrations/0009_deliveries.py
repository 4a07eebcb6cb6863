"""Who gets the reports of an order, what became of each, and calls with critical results."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_step_up'),
        ('orders', '0026_labels'),
        ('reports', '0008_tracks'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Critical',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('ordinal', models.PositiveIntegerField(null=True)),
                ('reason', models.CharField(max_length=500)),
                ('marked_at', models.DateTimeField()),
                ('state', models.CharField(default='open', max_length=10)),
                ('version', models.PositiveIntegerField(default=1)),
                ('closed_at', models.DateTimeField(null=True)),
                ('marked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='criticals', to='orders.order')),
            ],
        ),
        migrations.CreateModel(
            name='CriticalCall',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('whom', models.CharField(max_length=120)),
                ('number', models.CharField(max_length=60)),
                ('outcome', models.CharField(choices=[('read_back', 'reached, and read back'), ('not_reached', 'not reached'), ('refused', 'refused')], max_length=12)),
                ('read_back', models.CharField(blank=True, max_length=500)),
                ('words', models.CharField(blank=True, max_length=300)),
                ('called_at', models.DateTimeField()),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('critical', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='reports.critical')),
            ],
        ),
        migrations.CreateModel(
            name='CriticalLevel',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('level', models.PositiveSmallIntegerField()),
                ('at', models.DateTimeField()),
                ('critical', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='levels', to='reports.critical')),
            ],
        ),
        migrations.CreateModel(
            name='ReportDelivery',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('news', models.CharField(choices=[('issued', 'issued'), ('corrected', 'corrected'), ('recalled', 'recalled')], max_length=10)),
                ('replaces', models.PositiveIntegerField(null=True)),
                ('state', models.CharField(default='queued', max_length=12)),
                ('version', models.PositiveIntegerField(default=1)),
                ('channels', models.JSONField(default=list)),
                ('turn', models.PositiveSmallIntegerField(default=1)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('created_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(null=True)),
                ('opened_at', models.DateTimeField(null=True)),
                ('acknowledged_at', models.DateTimeField(null=True)),
                ('acknowledged_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('opened_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='orders.order')),
                ('report_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='reports.reportversion')),
            ],
        ),
        migrations.CreateModel(
            name='DeliveryNote',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('kind', models.CharField(choices=[('failed', 'failed'), ('again', 'sent again'), ('told', 'told in another way')], max_length=6)),
                ('words', models.CharField(blank=True, max_length=300)),
                ('told', models.CharField(blank=True, max_length=120)),
                ('means', models.CharField(blank=True, choices=[('phone', 'by telephone'), ('person', 'in person'), ('fax', 'by fax'), ('post', 'by post'), ('other', 'in another way')], max_length=10)),
                ('told_at', models.DateTimeField(null=True)),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='notes', to='reports.reportdelivery')),
            ],
        ),
        migrations.CreateModel(
            name='Recipient',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('part', models.CharField(choices=[('requester', 'Requester'), ('provider', 'Ordering provider'), ('copy', 'Copy'), ('hospital', 'Other hospital'), ('reader', 'Has read an earlier version')], max_length=10)),
                ('name', models.CharField(max_length=200)),
                ('address', models.EmailField(blank=True, max_length=254)),
                ('added_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('added_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('ended_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('hospital', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.organisation')),
                ('order', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='recipients', to='orders.order')),
                ('provider', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.provider')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='reportdelivery',
            name='recipient',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='reports.recipient'),
        ),
        migrations.AddIndex(
            model_name='critical',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['marked_at'], name='critical_open'),
        ),
        migrations.AddConstraint(
            model_name='critical',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('order', 'ordinal'), name='one_open_call_per_result', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='critical',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='critical_has_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='critical',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('closed_at', None), ('state', 'open')), models.Q(('closed_at__isnull', False), ('state', 'read_back')), _connector='OR'), name='critical_closed'),
        ),
        migrations.AddConstraint(
            model_name='criticalcall',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('outcome', 'read_back'), models.Q(('read_back', ''), _negated=True)), models.Q(('outcome__in', ['not_reached', 'refused']), ('read_back', '')), _connector='OR'), name='read_back_says_what'),
        ),
        migrations.AddConstraint(
            model_name='criticalcall',
            constraint=models.CheckConstraint(condition=models.Q(('called_at__lte', models.F('at'))), name='called_before_recorded'),
        ),
        migrations.AddConstraint(
            model_name='criticallevel',
            constraint=models.UniqueConstraint(fields=('critical', 'level'), name='one_telling_per_level'),
        ),
        migrations.AddConstraint(
            model_name='deliverynote',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('by__isnull', False), ('kind', 'told'), ('told_at__isnull', False), ('told_at__lte', models.F('at')), models.Q(('told', ''), _negated=True), ('means__in', ['phone', 'person', 'fax', 'post', 'other'])), models.Q(('by__isnull', False), ('kind', 'again'), ('means', ''), ('told', ''), ('told_at', None)), models.Q(('by', None), ('kind', 'failed'), ('means', ''), ('told', ''), ('told_at', None), models.Q(('words', ''), _negated=True)), _connector='OR'), name='delivery_note_says_what_it_must'),
        ),
        migrations.AddConstraint(
            model_name='recipient',
            constraint=models.UniqueConstraint(condition=models.Q(('user__isnull', False)), fields=('order', 'user'), name='one_recipient_per_person'),
        ),
        migrations.AddConstraint(
            model_name='recipient',
            constraint=models.UniqueConstraint(condition=models.Q(('provider__isnull', False)), fields=('order', 'provider'), name='one_recipient_per_provider'),
        ),
        migrations.AddConstraint(
            model_name='recipient',
            constraint=models.UniqueConstraint(condition=models.Q(('hospital__isnull', False)), fields=('order', 'hospital'), name='one_recipient_per_hospital'),
        ),
        migrations.AddConstraint(
            model_name='recipient',
            constraint=models.CheckConstraint(condition=models.Q(('part__in', ['requester', 'provider', 'copy', 'hospital', 'reader']), models.Q(models.Q(('hospital', None), ('provider', None), ('user__isnull', False)), models.Q(('hospital', None), ('provider__isnull', False), ('user', None)), models.Q(('hospital__isnull', False), ('provider', None), ('user', None)), _connector='OR')), name='recipient_is_somebody'),
        ),
        migrations.AddIndex(
            model_name='reportdelivery',
            index=models.Index(condition=models.Q(('state', 'failed')), fields=['organisation_id'], name='delivery_failed'),
        ),
        migrations.AddIndex(
            model_name='reportdelivery',
            index=models.Index(fields=['order', 'created_at'], name='delivery_of_order'),
        ),
        migrations.AddConstraint(
            model_name='reportdelivery',
            constraint=models.UniqueConstraint(fields=('report_version', 'recipient', 'news'), name='one_delivery_per_recipient'),
        ),
        migrations.AddConstraint(
            model_name='reportdelivery',
            constraint=models.CheckConstraint(condition=models.Q(('news__in', ['issued', 'corrected', 'recalled'])), name='delivery_news_known'),
        ),
        migrations.AddConstraint(
            model_name='reportdelivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('opened_at__isnull', False), ('opened_by__isnull', False), ('state__in', ['opened', 'acknowledged'])), models.Q(models.Q(('state__in', ['opened', 'acknowledged']), _negated=True), ('opened_at', None), ('opened_by', None)), _connector='OR'), name='delivery_opened_by_somebody'),
        ),
        migrations.AddConstraint(
            model_name='reportdelivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('acknowledged_at__isnull', False), ('acknowledged_by__isnull', False), ('state', 'acknowledged')), models.Q(models.Q(('state', 'acknowledged'), _negated=True), ('acknowledged_at', None), ('acknowledged_by', None)), _connector='OR'), name='delivery_acknowledged_by_somebody'),
        ),
        migrations.AddConstraint(
            model_name='reportdelivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('last_error', ''), _negated=True), _connector='OR'), name='delivery_says_why_it_failed'),
        ),
    ]
