"""Checks get the numbers in which Postgres took them: a clock that ran ahead cannot put one before the later ones."""

from django.db import migrations, models
from django.db.models import Func, Value

NUMBERED = """
    WITH old AS (SELECT id, row_number() OVER (ORDER BY asked_at) AS place FROM oversight_check)
    UPDATE oversight_check c SET number = old.place FROM old WHERE old.id = c.id;
    SELECT setval('oversight_check_number', (SELECT count(*) + 1 FROM oversight_check), false);
"""


class Migration(migrations.Migration):
    dependencies = [("oversight", "0002_retention")]
    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE oversight_check_number; GRANT USAGE ON SEQUENCE oversight_check_number TO helicase_app;",
            "DROP SEQUENCE oversight_check_number;",
        ),
        migrations.AddField(
            "check",
            "number",
            models.BigIntegerField(db_default=Func(Value("oversight_check_number"), function="nextval"), editable=False),
        ),
        migrations.RunSQL(NUMBERED, migrations.RunSQL.noop),
        migrations.AddConstraint("check", models.UniqueConstraint(fields=["number"], name="check_numbers")),
    ]
