"""Notices, whom they were shown to, and what left the house."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from foundation.protection import changeable, insert_only
from notices.machines import DELIVERY


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=120, unique=True)),
                ('kind', models.CharField(max_length=40)),
                ('organisation_id', models.UUIDField()),
                ('parties', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ('order_id', models.UUIDField(null=True)),
                ('accession', models.CharField(blank=True, max_length=20)),
                ('facts', models.JSONField(default=dict)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80)),
                ('url', models.CharField(max_length=500)),
                ('nonce', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.organisation')),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('organisation_id', models.UUIDField()),
                ('channel', models.CharField(choices=[('in_app', 'on the page'), ('email', 'by e-mail'), ('webhook', 'by webhook')], max_length=10)),
                ('state', models.CharField(default='queued', max_length=10)),
                ('version', models.PositiveIntegerField(default=1)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('not_before', models.DateTimeField()),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('created_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('endpoint', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='notices.endpoint')),
                ('notice', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='notices.notice')),
            ],
        ),
        migrations.CreateModel(
            name='Receipt',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('read_at', models.DateTimeField(null=True)),
                ('notice', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='receipts', to='notices.notice')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddConstraint(
            model_name='endpoint',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('organisation', 'name'), name='one_endpoint_of_a_name'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'queued')), fields=['not_before'], name='delivery_queued'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['organisation_id', '-created_at'], name='delivery_of_organisation'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('notice', 'channel', 'user', 'endpoint'), name='one_delivery', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('channel', 'email'), ('endpoint', None), ('user__isnull', False)), models.Q(('channel', 'webhook'), ('endpoint__isnull', False), ('user', None)), _connector='OR'), name='delivery_has_an_address'),
        ),
        migrations.AddIndex(
            model_name='receipt',
            index=models.Index(fields=['user', '-id'], name='receipt_of_person'),
        ),
        migrations.AddIndex(
            model_name='receipt',
            index=models.Index(condition=models.Q(('read_at', None)), fields=['user'], name='receipt_unread'),
        ),
        migrations.AddConstraint(
            model_name='receipt',
            constraint=models.UniqueConstraint(fields=('notice', 'user'), name='one_receipt_per_person'),
        ),
        migrations.RunSQL(*DELIVERY.trigger()),
        migrations.RunSQL(*insert_only("notices_notice")),
        migrations.RunSQL(*changeable("notices_receipt", "read_at")),
        migrations.RunSQL(*changeable("notices_endpoint", "nonce ended_at")),
        migrations.RunSQL(*changeable("notices_delivery", "state version attempts not_before last_error ended_at")),
    ]
