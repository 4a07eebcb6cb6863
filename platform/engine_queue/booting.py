"""From a name and deployments to a crew that may serve, or one clear line that says why not."""

from collections.abc import Sequence
from uuid import UUID

import structlog
from django.db import connections, transaction

from audit import services as audit
from engine_queue import lease
from engine_queue.crew import Crew
from engine_queue.errors import NothingToServe, WorkerRefused
from engine_queue.host import Bits, Host
from foundation.actor import process
from registry import files
from registry.models import Deployment, TestVersion

log = structlog.get_logger(__name__)

INSTALLATION = UUID(int=0)  # whose event it is while no laboratory offers a test on the deployment


def own_connections(name: str) -> None:
    """Threads of a worker hold their connections, under its name, and wait for nothing without end."""
    database = connections.settings["default"]
    database["CONN_MAX_AGE"] = None
    limits = "-c lock_timeout=20s -c idle_in_transaction_session_timeout=60s"
    database["OPTIONS"] = {**database["OPTIONS"], "application_name": name, "connect_timeout": 5, "options": limits}


def boot(*, name: str, deployments: Sequence[str], credits: int, stat_credits: int) -> Crew:
    """Take the name, load the engines, agree on their bits. Raises `WorkerRefused` with nothing left behind."""
    lease.check_name(name)
    rows = [_row(deployment) for deployment in dict.fromkeys(deployments)]
    held = lease.take_name(name, kind="engine")
    crew = Crew(lease=held, host=Host(), loaded=[], credits=credits, stat_credits=stat_credits)
    crew.keeper.start()  # loading may take longer than a lease
    try:
        _load(crew, rows)
    except BaseException:
        crew.keeper.stop()
        crew.host.stop()
        held.give_back()
        raise
    held.announce(deployments=crew.loaded, fingerprints={d: crew.host.facts(d)[0] for d in crew.loaded})
    return crew


def agree(deployment: str, bits: Bits, *, worker: str) -> str:
    """Pin fingerprint and golden bits of a deployment that has none; else compare. Blank when they agree, else why not."""
    with transaction.atomic():
        row = Deployment.objects.select_for_update().get(pk=deployment)
        if not row.fingerprint:
            row.fingerprint, row.golden = bits.fingerprint, bits.golden
            row.save(update_fields=["fingerprint", "golden"])
            facts = {"fingerprint": bits.fingerprint, "golden": bits.golden}
            for laboratory in _laboratories(deployment):
                audit.record(actor=process(worker), action="deployment.pinned", obj=row, organisation_id=laboratory, facts=facts)
    if row.fingerprint != bits.fingerprint:
        return _differs(deployment, "fingerprint", row.fingerprint, bits.fingerprint)
    if row.golden != bits.golden:
        return _differs(deployment, "golden bits", row.golden, bits.golden)
    return ""


def _differs(deployment: str, what: str, pinned: str, here: str) -> str:
    return (
        f"deployment {deployment} is pinned to {what} {_short(pinned)} and this machine gives {_short(here)}:"
        " its results would not be comparable"
    )


def _short(digest: str) -> str:
    return f"{digest[:12]}…" if digest else "none"


def _row(name: str) -> Deployment:
    row = Deployment.objects.select_related("model_version").filter(pk=name).first()
    if row is None:
        known = ", ".join(Deployment.objects.order_by("pk").values_list("pk", flat=True)) or "none is registered"
        raise WorkerRefused(f"there is no deployment {name} ({known})")
    folder = files.weights(row.model_version)
    if not folder.is_dir():
        raise WorkerRefused(f"deployment {name} needs the model folder {folder}, which is missing")
    return row


def _load(crew: Crew, rows: Sequence[Deployment]) -> None:
    for row in rows:
        bits = crew.host.load(row.name, files.weights(row.model_version), row.pin)
        refusal = agree(row.name, bits, worker=crew.lease.name)
        if refusal:
            crew.refused[row.name] = refusal
            crew.host.unload(row.name)
        else:
            crew.loaded.append(row.name)
    if not crew.loaded:
        raise NothingToServe("; ".join(crew.refused.values()))
    for refusal in crew.refused.values():
        log.error("worker.refuses_deployment", worker=crew.lease.name, reason=refusal)


def _laboratories(deployment: str) -> list[UUID]:
    offered = TestVersion.objects.filter(deployment_id=deployment).order_by().values_list("definition__laboratory_id", flat=True)
    return list(offered.distinct()) or [INSTALLATION]
