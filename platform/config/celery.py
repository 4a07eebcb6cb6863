"""The Celery application. Queues are named per deployment; platform jobs have their own."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

from django.conf import settings

PLATFORM_QUEUE = "platform"  # housekeeping: dispatch, sweeping, recovery; never waits behind an upload
PLATFORM_QUEUES = (PLATFORM_QUEUE, *settings.INTAKE_QUEUES)

app = Celery("helicase")
app.conf.update(settings.CELERY)
app.conf.broker_transport_options = {
    **app.conf.broker_transport_options,
    # For those who send: one quick second try. The sender's transaction has committed, and the sweeper sends again.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.1,
}


def _every(seconds: float, task: str) -> dict[str, object]:
    """A beat entry; what no worker took before the next few are due is not worth doing any more."""
    return {"task": task, "schedule": seconds, "options": {"queue": PLATFORM_QUEUE, "expires": seconds * 3}}


app.conf.beat_schedule = {
    "dispatch the outbox": _every(2.0, "outbox.dispatch"),
    "sweep the engine queue": _every(5.0, "engine_queue.sweep"),
    "watch due times": _every(5.0, "orders.watch_due_times"),
    "escalate": _every(5.0, "orders.escalate"),
    "escalate critical results": _every(5.0, "reports.escalate_critical"),
    "send notices": _every(2.0, "notices.deliver"),
    "end hold requests": _every(5.0, "orders.expire_hold_requests"),
    "take work from leavers": _every(10.0, "orders.release_leavers"),
    "recover interrupted audit reports": _every(15.0, "inspection.recover_reports"),
    "recover interrupted checks": _every(15.0, "orders.recover_intakes"),
    "place what was asked for by FHIR": _every(2.0, "interop.place_fhir_orders"),
    "forget old answers": _every(3600.0, "interop.sweep_answers"),
    "oversee the audit trail": _every(30.0, "oversight.watch"),
    "delete what its retention is over for": _every(300.0, "oversight.retain"),
    "count outputs": _every(60.0, "drift.count"),
    "end old drafts": _every(600.0, "casefile.expire_drafts"),
    "sweep orphaned files": _every(3600.0, "storage.sweep_orphans"),
}
app.autodiscover_tasks()
