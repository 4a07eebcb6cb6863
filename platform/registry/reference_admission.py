"""Admit a reference: check and copy its FASTA, digest every contig, fit the baseline, keep the rows."""

from collections.abc import Callable, Sequence
from pathlib import Path

from django.conf import settings
from django.db import transaction

from accounts.roles import Verb
from foundation.actor import Actor
from registry import leftovers, markov, reference_files, registering, services
from registry.errors import RegistrationRefused
from registry.models import Reference
from registry.reference_files import Copied, Progress

FOLDER = "references"  # below DATA_DIR
Names = Callable[[str, int], Sequence[str]]  # a contig's name and length → other names it may go by


def admit(
    source: Path,
    *,
    name: str,
    description: str,
    names: Names,
    actor: Actor,
    order: int = markov.ORDER,
    progress: Progress = lambda name, length: None,
) -> tuple[Reference, bool]:
    """Register a FASTA file under `name`; the row, and whether it is new. The same sequences again give the same row.

    Raises `NotPermitted` before anything is read, and `RegistrationRefused` for a file that is no reference, and when name or
    sequences are registered otherwise.
    """
    registering.require(actor, Verb.REGISTER)
    if not name.strip() or len(name) > 80:
        raise RegistrationRefused("a reference needs a name of at most 80 characters")
    folder = Path(settings.DATA_DIR) / FOLDER
    with leftovers.registering(folder):
        copied = reference_files.copy(source, folder, order=order, progress=progress)
        try:
            return _kept(copied, folder, name=name, description=description, names=names, actor=actor)
        finally:
            reference_files.remove(copied.path)


def _kept(copied: Copied, folder: Path, *, name: str, description: str, names: Names, actor: Actor) -> tuple[Reference, bool]:
    known = Reference.objects.filter(digest=copied.digest).first()
    if known is not None:
        return _named(known, name), False
    contigs = [{**contig, "aliases": sorted(names(contig["name"], contig["length"]))} for contig in copied.contigs]
    with transaction.atomic():
        made = services.register_reference(
            name=name,
            description=description,
            path=reference_files.settled(copied, folder),
            digest=copied.digest,
            contigs=contigs,
            counting=copied.counting,
            actor=actor,
        )
        reference_files.settle(copied, folder)  # somebody else may have been quicker: then with the same bytes
        return _named(made, name), True


def _named(reference: Reference, name: str) -> Reference:
    if reference.name != name:
        raise RegistrationRefused(f"these sequences are registered as {reference.name}: one reference has one name")
    return reference
