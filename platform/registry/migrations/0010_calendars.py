"""Working calendars, and by which one the minutes of a test count. Neither is ever altered."""

import django.db.models.deletion
from django.db import migrations, models

from foundation.protection import insert_only


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
        ('registry', '0009_calibrated_tests'),
    ]

    operations = [
        migrations.CreateModel(
            name='Calendar',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=40)),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=80)),
                ('weekly', models.JSONField()),
                ('holidays', models.JSONField(default=list)),
                ('created_at', models.DateTimeField()),
                ('created_by', models.CharField(max_length=200)),
                ('laboratory', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='calendars', to='accounts.organisation')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('laboratory', 'code', 'number'), name='one_calendar_version')],
            },
        ),
        migrations.CreateModel(
            name='ClockChoice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('priority', models.CharField(choices=[('stat', 'STAT'), ('asap', 'ASAP'), ('urgent', 'Urgent'), ('routine', 'Routine')], max_length=10)),
                ('calendar_code', models.CharField(blank=True, max_length=40)),
                ('chosen_at', models.DateTimeField()),
                ('chosen_by', models.CharField(max_length=200)),
                ('definition', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='clock_choices', to='registry.testdefinition')),
            ],
            options={
                'indexes': [models.Index(fields=['definition', 'priority', '-id'], name='clock_choice_last')],
                'constraints': [models.CheckConstraint(condition=models.Q(('priority__in', ['stat', 'asap', 'urgent', 'routine'])), name='clock_priority_known')],
            },
        ),
        migrations.RunSQL(*insert_only("registry_calendar")),
        migrations.RunSQL(*insert_only("registry_clockchoice")),
    ]
