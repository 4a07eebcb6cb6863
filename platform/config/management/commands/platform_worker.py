"""Start a platform worker: the sweeper and the outbox, checks of uploads, or both."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, connections

from config import starting
from engine_queue import lease, restore
from engine_queue.errors import WorkerRefused
from engine_queue.keeper import Keeper
from engine_queue.standing import KeepName, Standing


class Command(BaseCommand):
    help = "Run platform jobs in processes of their own: housekeeping (queue platform), uploads (intake, intake-large)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True, help="unique among all workers; held by a lease")
        parser.add_argument("--queue", action="append", choices=["platform", "intake", "intake-large"], help="default: all three")
        parser.add_argument("--concurrency", type=int, default=2)

    def handle(self, *args: Any, **options: Any) -> None:
        starting.require()
        name = options["name"]
        try:
            lease.check_name(name)
            held = lease.take_name(name, kind="platform")
        except WorkerRefused as error:
            raise CommandError(str(error), returncode=2) from error
        except OperationalError as error:
            raise CommandError(f"the database cannot be used: {str(error).splitlines()[0]}", returncode=1) from error
        connections.close_all()  # the pool forks: no child may inherit one
        from config.celery import PLATFORM_QUEUES

        queues = options["queue"] or PLATFORM_QUEUES
        self.stdout.write(f"platform worker {name} serves {', '.join(queues)}")
        self.stdout.flush()  # a log file is read while the process runs
        KeepName.keeper = Keeper(held, Standing())
        self._serve(name, options["concurrency"], ",".join(queues))

    def _serve(self, name: str, concurrency: int, queues: str) -> None:
        from config.celery import app

        app.steps["worker"].add(KeepName)
        app.steps["consumer"].update({restore.RestoreOwn, restore.SafeAcknowledgements, restore.SafeLoss})
        app.conf.broker_transport_options = {**app.conf.broker_transport_options, **restore.own_keys(name)}
        app.conf.worker_redirect_stdouts = False
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING"]
        app.worker_main(["-q", "worker", "-P", "prefork", "-c", str(concurrency), "-Q", queues, "-n", f"{name}@%h", *quiet])
