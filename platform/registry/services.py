"""Register models, deployments, references and tests. Registering the same thing again gives the same row."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import Organisation
from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from registry import calibration as calibration_tables
from registry import markov, model_folders, pins, protocol_rules, registering, terms
from registry.errors import RegistrationRefused
from registry.model_folders import ModelFolder
from registry.models import (
    Annotation,
    CalibrationTable,
    Deployment,
    Inspection,
    IntendedUse,
    ModelVersion,
    Reference,
    TestDefinition,
    TestVersion,
)
from registry.registering import UNATTENDED

_CODE = re.compile(r"[A-Za-z0-9_-]{1,40}")


def register_model(*, name: str, version: str, folder: str, actor: Actor = UNATTENDED) -> ModelVersion:
    """A model folder below MODELS_DIR, pinned by the digests of every file that may change a result.

    Raises `NotPermitted`, and `RegistrationRefused` when name and version stand for other bytes, or these bytes go by another name
    or version.
    """
    registering.require(actor, Verb.REGISTER)
    found = model_folders.read(Path(settings.MODELS_DIR) / folder)
    with transaction.atomic():
        known = known_model(name=name, version=version, found=found)
        if known is None:
            try:
                with transaction.atomic():
                    made = _new_model(name, version, folder, found)
                    registering.note(actor, "model.registered", made, {"model": str(made), "digest": made.digest})
                    return made
            except IntegrityError:  # somebody else was quicker
                known = known_model(name=name, version=version, found=found)
                if known is None:
                    raise
        if not known.digest:
            known.digest, known.files = found.digest, [asdict(file) for file in found.files]
            known.card, known.card_sha256 = found.card, found.card_sha256
            known.save(update_fields=["digest", "files", "card", "card_sha256"])
        return known


def known_model(*, name: str, version: str, found: ModelFolder) -> ModelVersion | None:
    """The row of these bytes, if there is one. Raises `RegistrationRefused` as `register_model` does."""
    known = ModelVersion.objects.filter(name=name, version=version).first()
    if known is None:
        other = ModelVersion.objects.filter(digest=found.digest).first()
        if other is not None:
            raise RegistrationRefused(f"these bytes are registered as {other}: one model has one name", code="model.known")
        return None
    pinned = known.weights_sha256, known.tokenizer_sha256
    if (known.digest and known.digest != found.digest) or pinned != (found.weights_sha256, found.tokenizer_sha256):
        raise RegistrationRefused(
            f"{known} is registered with other bytes; give these another --model-version", code="model.differs"
        )
    return known


def inspected(model_version: ModelVersion, found: Mapping[str, Any]) -> Inspection:
    """Keep what a machine found when it loaded a model version."""
    made, _ = Inspection.objects.get_or_create(
        model_version=model_version,
        fingerprint=found["fingerprint"],
        golden=found["golden"],
        defaults={"found": dict(found), "created_at": clock.now()},
    )
    return made


def register_deployment(
    *, name: str, model_version: ModelVersion, precision: str, pin: Mapping[str, Any], actor: Actor = UNATTENDED
) -> Deployment:
    """A model version with the engine settings that decide its bits.

    Raises `NotPermitted`, `PinRefused` for sizes beyond any machine and `RegistrationRefused` when the name stands for something
    else.
    """
    registering.require(actor, Verb.REGISTER)
    pins.require(pin)
    columns = {"model_version": model_version, "precision": precision, "pin": dict(pin), "created_at": clock.now()}
    with transaction.atomic():
        made, new = Deployment.objects.get_or_create(name=name, defaults=columns)
        if new:
            facts = {"model": str(model_version), "precision": precision, "pin": dict(pin)}
            registering.note(actor, "deployment.registered", made, facts)
    if not new and (made.model_version_id, made.precision, made.pin) != (model_version.pk, precision, dict(pin)):
        said = f"deployment {name} is registered as {made.model_version}, {made.precision}, {made.pin}; choose another name"
        raise RegistrationRefused(said, code="deployment.differs")
    return made


def register_reference(
    *,
    name: str,
    description: str,
    path: str,
    digest: str,
    contigs: Sequence[Mapping[str, Any]],
    annotation_path: str = "",
    counting: markov.Counting | None = None,
    actor: Actor = UNATTENDED,
) -> Reference:
    """Reference sequences in a file that stays where it is; `contigs` holds name, length and aliases of each.

    The baseline is fitted from `counting`, or from the file where that is missing.

    Raises `NotPermitted`, and `RegistrationRefused` when the name stands for other sequences.
    """
    registering.require(actor, Verb.REGISTER)
    if Reference.objects.filter(name=name).exclude(digest=digest).exists():
        raise _taken(name)
    columns = {
        "name": name, "description": description, "path": path, "annotation_path": annotation_path,
        "contigs": [dict(contig) for contig in contigs],
    }  # fmt: skip
    try:
        with transaction.atomic():
            made, new = Reference.objects.get_or_create(digest=digest, defaults=columns)
            if new:
                registering.note(actor, "reference.registered", made, {"reference": name, "digest": digest})
    except IntegrityError as error:  # somebody else was quicker
        raise _taken(name) from error
    markov.keep(made, counting) if counting is not None else markov.fit(made)
    return made


def offer_test(
    *,
    laboratory: Organisation,
    code: str,
    name: str,
    accepts: Sequence[str],
    reference: Reference,
    deployment: Deployment,
    protocol: Mapping[str, Any],
    sla_minutes: Mapping[str, Sequence[int]],
    signatures: Mapping[str, int] = terms.SIGNATURES,
    annotation: Annotation | None = None,
    calibration: CalibrationTable | None = None,
    intended_use: str = IntendedUse.DEMONSTRATION,
    limitations: str = "",
    actor: Actor = UNATTENDED,
) -> TestVersion:
    """What a laboratory offers under a code: the version that is just so, else a new one, which takes the place of the others.

    Raises `NotPermitted`, and `RegistrationRefused` for an annotation of another reference, a calibration table made for other
    scores, a protocol that the model cannot compute, and due times or signatures that cannot be (`terms`).
    """
    registering.require(actor, Verb.OFFER_TEST, laboratory)
    _require_code(code)
    _require_of(annotation, reference)
    _require_for(calibration, deployment, protocol)
    protocol_rules.require_computable(protocol, deployment.model_version)
    wanted: dict[str, Any] = {
        **terms.checked(accepts, sla_minutes, signatures),
        "reference": reference,
        "annotation": annotation,
        "calibration": calibration,
        "deployment": deployment,
        "protocol": dict(protocol),
        "intended_use": intended_use,
        "limitations": limitations,
    }
    with transaction.atomic():
        definition, _ = TestDefinition.objects.get_or_create(laboratory=laboratory, code=code, defaults={"name": name})
        return _version(definition, wanted, actor)


def _version(definition: TestDefinition, wanted: Mapping[str, Any], actor: Actor) -> TestVersion:
    """The newest version where it is just so, else the next one."""
    versions = TestDefinition.objects.select_for_update().get(pk=definition.pk).versions
    latest = versions.order_by("-number").first()
    if latest is not None and all(getattr(latest, column) == value for column, value in wanted.items()):
        return latest
    versions.update(offered=False)
    number = latest.number + 1 if latest else 1
    made = TestVersion.objects.create(definition=definition, number=number, created_at=clock.now(), **wanted)
    facts = {"code": definition.code, "number": number, "deployment": made.deployment_id, "protocol": made.protocol}
    registering.note(actor, "test.offered", made, facts, definition.laboratory)
    return made


def _require_code(code: str) -> None:
    if not _CODE.fullmatch(code):
        raise RegistrationRefused(f"{code!r} is no code: letters, digits, dash and underscore, at most 40", code="test.code")


def _require_of(annotation: Annotation | None, reference: Reference) -> None:
    if annotation is not None and annotation.reference_id != reference.pk:
        said = f"annotation {annotation} belongs to {annotation.reference}, not to {reference}"
        raise RegistrationRefused(said, code="test.annotation")


def _require_for(table: CalibrationTable | None, deployment: Deployment, protocol: Mapping[str, Any]) -> None:
    model, precision = deployment.model_version_id, deployment.precision
    if table and not calibration_tables.fits(table, model_version_id=model, protocol=protocol, precision=precision):
        said = f"{table}, was made for another model version, protocol or precision than this test has"
        raise RegistrationRefused(said, code="test.calibration")


def _taken(reference: str) -> RegistrationRefused:
    said = f"reference {reference} is registered with other sequences; choose another --name"
    return RegistrationRefused(said, code="reference.differs")


def _new_model(name: str, version: str, folder: str, found: ModelFolder) -> ModelVersion:
    return ModelVersion.objects.create(
        name=name,
        version=version,
        folder=folder,
        weights_sha256=found.weights_sha256,
        tokenizer_sha256=found.tokenizer_sha256,
        digest=found.digest,
        files=[asdict(file) for file in found.files],
        card=found.card,
        card_sha256=found.card_sha256,
        created_at=clock.now(),
    )
