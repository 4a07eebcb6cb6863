"""Take every step of the monitors again and compare it with what was kept."""

from typing import Any

from django.core.management import BaseCommand

from drift import following
from drift.models import FrozenReference


class Command(BaseCommand):
    help = "Recompute every window, test and state of every stream from its counts. Ends with 0: all as kept, 1: something differs."

    def handle(self, *args: Any, **options: Any) -> None:
        differs = 0
        for reference in FrozenReference.objects.select_related("test_version__definition").order_by("frozen_at", "feature"):
            found = following.replay(reference)
            differs += bool(found)
            self.stdout.write(f"{reference.test_version}, {reference.feature}, {reference.windows.count()} windows: " + (
                "; ".join(found) or "as kept"
            ))  # fmt: skip
        if differs:
            raise SystemExit(1)
