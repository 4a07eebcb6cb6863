"""Orders that other systems asked for by FHIR: what was said stays as it was said."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from foundation.protection import changeable, kept
from interop.machines import FHIR_ORDER


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_api_tokens'),
        ('interop', '0001_kept_answers'),
        ('orders', '0007_demotions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='FhirOrder',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('placer_system', models.CharField(max_length=120)),
                ('placer_number', models.CharField(max_length=80)),
                ('content_hash', models.CharField(max_length=64)),
                ('doubtful', models.BooleanField(default=False)),
                ('priority', models.CharField(choices=[('stat', 'STAT'), ('asap', 'ASAP'), ('urgent', 'Urgent'), ('routine', 'Routine')], max_length=10)),
                ('rank', models.PositiveSmallIntegerField()),
                ('request', models.JSONField()),
                ('said', models.JSONField()),
                ('state', models.CharField(default='waiting', max_length=10)),
                ('version', models.PositiveIntegerField(default=1)),
                ('code', models.CharField(blank=True, max_length=60)),
                ('words', models.CharField(blank=True, max_length=500)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('token', models.CharField(blank=True, max_length=40)),
                ('asked_at', models.DateTimeField()),
                ('changed_at', models.DateTimeField()),
                ('intake', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orders.intake')),
                ('order', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='asked_by_fhir', to='orders.order')),
                ('ordering_organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.organisation')),
                ('performing_laboratory', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.organisation')),
                ('sender', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ['waiting', 'parked'])), fields=['rank', 'asked_at'], name='fhir_order_open')],
                'constraints': [models.UniqueConstraint(condition=models.Q(models.Q(('state', 'closed'), _negated=True), ('doubtful', False)), fields=('ordering_organisation', 'placer_system', 'placer_number'), name='one_fhir_order_per_number'), models.UniqueConstraint(condition=models.Q(('state', 'closed'), _negated=True), fields=('ordering_organisation', 'placer_system', 'placer_number', 'content_hash'), name='one_fhir_order_per_content'), models.CheckConstraint(condition=models.Q(models.Q(('order__isnull', False), ('state', 'placed')), models.Q(models.Q(('state', 'placed'), _negated=True), ('order', None)), _connector='OR'), name='fhir_order_placed_is_an_order'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'parked'), _negated=True), models.Q(('code', ''), _negated=True), _connector='OR'), name='fhir_order_parked_says_why')],
            },
        ),
        migrations.RunSQL(*FHIR_ORDER.trigger()),
        migrations.RunSQL(*changeable("interop_fhirorder", "state version code words tries intake_id order_id changed_at request")),
        migrations.RunSQL(*kept("interop_fhirorder")),
    ]
