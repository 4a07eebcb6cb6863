"""Start beat: one active, others stand by."""

import signal
import time
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.db import Error, OperationalError, connection

from config import starting

LOCK = 7_241_002  # advisory: one active beat
STANDBY_SECONDS = 2.0
_HELD = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND pid = pg_backend_pid()"


class Command(BaseCommand):
    help = "Send the periodic tasks. A second one waits until the first is gone."

    def handle(self, *args: Any, **options: Any) -> None:
        starting.require()
        from celery.apps.beat import Beat

        from config.celery import app

        connection.settings_dict["CONN_MAX_AGE"] = None  # the lock lives as long as its connection
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background commands ignore it
        try:
            self._wait_for_turn()
        except KeyboardInterrupt:
            return  # asked to stop while standing by
        except OperationalError as error:
            raise CommandError(f"the database cannot be used: {str(error).splitlines()[0]}", returncode=1) from error
        self.stdout.write("beat sends the periodic tasks")
        self.stdout.flush()  # a log file is read while the process runs
        app.conf.worker_redirect_stdouts = False
        Beat(app=app, loglevel="WARNING", schedule=None, scheduler_cls=_scheduler(), quiet=True, max_interval=1).run()  # type: ignore[arg-type]  # a class is taken too

    def _wait_for_turn(self) -> None:
        told = False
        while not _locked():
            if not told:
                self.stdout.write("beat stands by: another one is active")
                self.stdout.flush()  # a log file is read while the process runs
                told = True
            time.sleep(STANDBY_SECONDS)


def _locked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


def _holds() -> bool:
    """Whether the connection that holds the lock is the same and alive."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_HELD, [LOCK])
            return bool(cursor.fetchone()[0])
    except Error:
        return False


def _scheduler() -> type:
    from celery.beat import Scheduler

    class OneActive(Scheduler):
        """Keeps its schedule in memory, and ends with the lock that makes it the only one."""

        def tick(self, *args: Any, **kwargs: Any) -> float:
            if not _holds():
                raise SystemExit("beat has lost its lock")
            return float(super().tick(*args, **kwargs))

    return OneActive
