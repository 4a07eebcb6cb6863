"""Start an engine worker: a Celery worker whose pool is the engine."""

import os
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from config import bundled, starting
from engine_queue.errors import WorkerRefused


class Command(BaseCommand):
    help = "Serve deployments: claim jobs, compute them, write their results."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True, help="unique among all workers; held by a lease")
        several = "several with commas, or given several times"
        parser.add_argument(
            "--deployment", "--deployments", action="extend", default=[], dest="deployments", type=_names, help=several
        )
        bundled = "serve the deployment that comes with Helicase, and former ones of it that a test or an order still needs"
        parser.add_argument("--bundled", action="store_true", help=bundled)
        parser.add_argument("--credits", type=int, default=8, help="jobs held at once")
        parser.add_argument("--stat-credits", type=int, default=4, help="STAT jobs held beside them")
        parser.add_argument("--drain-seconds", type=float, default=4.0, help="time to finish what runs when asked to stop")

    def handle(self, *args: Any, **options: Any) -> None:
        starting.require()
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: idle compute threads leave the cores to the others
        from engine_queue import booting

        booting.own_connections(options["name"])
        try:
            crew = booting.boot(
                name=options["name"],
                deployments=_asked(options),
                credits=options["credits"],
                stat_credits=options["stat_credits"],
            )
        except WorkerRefused as error:
            raise CommandError(str(error), returncode=2) from error
        except OperationalError as error:
            raise CommandError(f"the database cannot be used: {str(error).splitlines()[0]}", returncode=1) from error
        self.stdout.write(f"engine worker {options['name']} serves {', '.join(crew.loaded)}")
        self.stdout.flush()  # a log file is read while the process runs
        self._serve(crew, options)
        if crew.died:
            raise CommandError(crew.died, returncode=1)

    def _serve(self, crew: Any, options: dict[str, Any]) -> None:
        from celery import concurrency

        from config.celery import app
        from engine_queue import restore, tickets
        from engine_queue.pool import EnginePool
        from engine_queue.stat import StatConsumer

        # CELERY_CUSTOM_WORKER_POOL would say the same, but Celery reads it when Django loads its tasks: too early for a command
        concurrency.ALIASES["custom"] = "engine_queue.pool:EnginePool"  # type: ignore[attr-defined]  # not in the stubs
        EnginePool.crew, EnginePool.drain_seconds = crew, options["drain_seconds"]
        StatConsumer.queues, StatConsumer.credits = tuple(map(tickets.stat_queue, crew.loaded)), options["stat_credits"]
        app.steps["consumer"].update({StatConsumer, restore.RestoreOwn, restore.SafeAcknowledgements, restore.SafeLoss})
        app.conf.broker_transport_options = {**app.conf.broker_transport_options, **restore.own_keys(options["name"])}
        app.conf.worker_enable_prefetch_count_reduction = False  # places are counted by the crew
        app.conf.worker_redirect_stdouts = False
        queues = ",".join(map(tickets.routine_queue, crew.loaded))
        node = f"{options['name']}@%h"
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING"]
        app.worker_main(["-q", "worker", "-P", "custom", "-c", str(options["credits"]), "-Q", queues, "-n", node, *quiet])


def _asked(options: dict[str, Any]) -> list[str]:
    asked = [*options["deployments"], *(bundled.served() if options["bundled"] else [])]
    if not asked:
        raise CommandError("name what to serve: --deployment NAME, or --bundled", returncode=2)
    return asked


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]
