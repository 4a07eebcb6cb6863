"""Platform jobs of the case file."""

from celery import shared_task

from casefile import drafts


@shared_task(name="casefile.expire_drafts")
def expire_drafts() -> None:
    """End drafts that nobody has saved for too long."""
    drafts.expire()
