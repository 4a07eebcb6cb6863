"""From a deployment's row to an engine in this process whose bits are those the deployment is pinned to."""

from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from audit import services as audit
from engine_queue.errors import BitsDiffer, WorkerRefused
from engine_queue.host import Bits, Host
from foundation.actor import process
from registry import files, validation
from registry.models import Deployment, Inspection, TestVersion

BYTES = {"weights_sha256": "weights", "config_sha256": "settings", "tokenizer_sha256": "tokenizer files"}
INSTALLATION = UUID(int=0)  # whose event it is while no laboratory offers a test on the deployment


def row(name: str) -> Deployment:
    """The row of a deployment whose model folder is here. Raises `WorkerRefused`, with one clear line."""
    found = Deployment.objects.select_related("model_version").filter(pk=name).first()
    if found is None:
        known = ", ".join(Deployment.objects.order_by("pk").values_list("pk", flat=True)) or "none is registered"
        raise WorkerRefused(f"there is no deployment {name} ({known})")
    folder = files.weights(found.model_version)
    if not folder.is_dir():
        raise WorkerRefused(f"deployment {name} needs the model folder {folder}, which is missing")
    return found


def load(host: Host, deployment: Deployment, *, worker: str) -> None:
    """Start an engine. Raises `BitsDiffer` when its bits are not those the deployment is pinned to; then it is stopped again."""
    bits = host.load(deployment.name, files.weights(deployment.model_version), deployment.pin)
    try:
        refusal = agree(deployment.name, bits, worker=worker)
        if refusal:
            raise BitsDiffer(refusal)
    except BaseException:  # the database may be away: no engine stays that nobody serves
        host.unload(deployment.name)
        raise


def agree(deployment: str, bits: Bits, *, worker: str) -> str:
    """Pin fingerprint and golden bits of a deployment that has none; else compare. Blank when they agree, else why not.

    Before anything is pinned, what was found when the model was registered is compared as well.
    """
    with transaction.atomic():
        pinned = Deployment.objects.select_for_update().get(pk=deployment)
        contradiction = _against_inspections(pinned, bits)
        if contradiction:
            return _changed(deployment, contradiction, worker)
        if not pinned.fingerprint:
            pinned.fingerprint, pinned.golden = bits.fingerprint, bits.golden
            pinned.save(update_fields=["fingerprint", "golden"])
            facts = {"fingerprint": bits.fingerprint, "golden": bits.golden}
            for laboratory in laboratories(deployment):
                audit.record(actor=process(worker), action="deployment.pinned", obj=pinned, organisation_id=laboratory, facts=facts)
    if pinned.fingerprint != bits.fingerprint:
        return _differs(deployment, "fingerprint", pinned.fingerprint, bits.fingerprint)
    if pinned.golden != bits.golden:
        return _changed(deployment, _differs(deployment, "golden bits", pinned.golden, bits.golden), worker)
    return ""


def laboratories(deployment: str) -> list[UUID]:
    """Whose events concern a deployment: the laboratories that offer tests on it, else the installation."""
    return concerned([deployment]) or [INSTALLATION]


def concerned(deployments: Collection[str]) -> list[UUID]:
    """The laboratories that offer tests, or once did, on any of these deployments."""
    offered = TestVersion.objects.filter(deployment_id__in=deployments).order_by()
    return list(offered.values_list("definition__laboratory_id", flat=True).distinct())


def _against_inspections(deployment: Deployment, bits: Bits) -> str:
    """What contradicts the inspections of the model; blank: nothing, or nothing that can be compared.

    Bytes are compared where the same version of the engine digested them; golden bits and smoke score under the same fingerprint.
    """
    inspections = list(deployment.model_version.inspections.order_by("pk"))
    here = bits.found
    for found in [i.found for i in inspections if i.found.get("engine_version") == here.get("engine_version")]:
        for key, what in BYTES.items():
            if key in here and found.get(key, here[key]) != here[key]:
                said = f"its folder no longer holds the {what} that were registered as {deployment.model_version}"
                return f"deployment {deployment.name} cannot be served: {said}"
    alike = [i for i in inspections if i.fingerprint == bits.fingerprint]
    if not alike or any(_same(i, deployment, bits) for i in alike):
        return ""
    then, now = alike[-1].found.get("smoke_log_likelihood"), here.get("smoke_log_likelihood")
    said = f"golden bits {_short(bits.golden)} and {now} nats, where {_short(alike[-1].golden)} and {then} were found"
    when = f"when {deployment.model_version} was registered"
    return f"deployment {deployment.name} computes {said} {when}: its results cannot be trusted"


def _same(inspection: Inspection, deployment: Deployment, bits: Bits) -> bool:
    """The mix behind golden bits is cut to the pool, so that a pool of another size has others."""
    golden = "blocks" in deployment.pin or inspection.golden == bits.golden
    keys = ("smoke_bases", "smoke_log_likelihood")
    there, here = ([found.get(key) for key in keys] for found in (inspection.found, bits.found))
    return golden and (there[0] != here[0] or there == here)


def _changed(deployment: str, said: str, worker: str) -> str:
    """What was validated is not what is here. A machine with other settings changes nothing: it only does not serve."""
    validation.component_changed(actor=process(worker), deployment=deployment, words=said)
    return said


def _differs(deployment: str, what: str, pinned: str, here: str) -> str:
    return (
        f"deployment {deployment} is pinned to {what} {_short(pinned)} and this machine gives {_short(here)}:"
        " its results would not be comparable"
    )


def _short(digest: str) -> str:
    return f"{digest[:12]}…" if digest else "none"
