"""Platform jobs of drift."""

from celery import shared_task

from drift import following, rollup


@shared_task(name="drift.count")
def count() -> None:
    """Count the hours that are due, and follow the streams over the days that are settled by it."""
    rollup.count()
    following.follow()
