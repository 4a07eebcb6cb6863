"""From a name and deployments to a crew that may serve, or one clear line that says why not."""

from collections.abc import Sequence

import structlog
from django.db import connections

from engine_queue import lease, loading
from engine_queue.crew import Crew
from engine_queue.errors import BitsDiffer, NothingToServe
from engine_queue.host import Host
from registry.models import Deployment

log = structlog.get_logger(__name__)


def own_connections(name: str) -> None:
    """Threads of a worker hold their connections, under its name, and wait for nothing without end."""
    database = connections.settings["default"]
    database["CONN_MAX_AGE"] = None
    limits = "-c lock_timeout=20s -c idle_in_transaction_session_timeout=60s"
    database["OPTIONS"] = {**database["OPTIONS"], "application_name": name, "connect_timeout": 5, "options": limits}


def boot(*, name: str, deployments: Sequence[str], credits: int, stat_credits: int) -> Crew:
    """Take the name, load the engines, agree on their bits. Raises `WorkerRefused` with nothing left behind."""
    lease.check_name(name)
    rows = [loading.row(deployment) for deployment in dict.fromkeys(deployments)]
    held = lease.take_name(name, kind="engine")
    crew = Crew(lease=held, host=Host(), loaded=[], credits=credits, stat_credits=stat_credits)
    crew.keeper.start()  # loading may take longer than a lease
    try:
        _load(crew, rows)
    except BaseException:
        crew.keeper.stop()
        if crew.refused:
            held.extend(crew.stats())  # the engine page says why, when this process is gone
        crew.host.stop()
        held.give_back()
        raise
    held.announce(deployments=crew.loaded, fingerprints={d: crew.host.facts(d)[0] for d in crew.loaded})
    return crew


def _load(crew: Crew, rows: Sequence[Deployment]) -> None:
    for row in rows:
        try:
            loading.load(crew.host, row, worker=crew.lease.name)
            crew.loaded.append(row.name)
        except BitsDiffer as refusal:
            crew.refused[row.name] = str(refusal)
    if not crew.loaded:
        raise NothingToServe("; ".join(crew.refused.values()))
    for said in crew.refused.values():
        log.error("worker.refuses_deployment", worker=crew.lease.name, reason=said)
