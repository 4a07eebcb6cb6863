"""A reviewed order goes back into analysis for another run: then, and only then, its count begins anew and it is not scored yet."""

from importlib import import_module

from django.db import migrations

times = import_module("orders.migrations.0022_times")
RETURNED = "(OLD.state IN ('awaiting_review', 'awaiting_second_review') AND NEW.state = 'in_analysis')"
SCORED = "(OLD.scored_at IS NULL AND OLD.state = 'in_analysis' AND NEW.state = 'awaiting_review')"
COUNTS = "OR NEW.items_done < OLD.items_done THEN"
ANEW = f"OR (NEW.items_done < OLD.items_done AND NOT ({RETURNED} AND NEW.items_done = 0)) THEN"


def function(text: str) -> str:
    """The function alone: its trigger stays."""
    return text[: text.index("CREATE TRIGGER")].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


NOW = function(times.TIMES).replace(SCORED, f"{SCORED} OR ({RETURNED} AND NEW.scored_at IS NULL)").replace(COUNTS, ANEW)
if NOW.count(RETURNED) != 2:
    raise ValueError("the rules of 0022 are not the ones that this migration widens")


class Migration(migrations.Migration):
    dependencies = [("orders", "0023_rare_orders")]
    operations = [migrations.RunSQL(NOW, function(times.TIMES))]
