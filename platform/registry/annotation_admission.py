"""Admit an annotation: read it, prove that it belongs to the reference, keep it in one form beside its digests."""

import gzip
import hashlib
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pysam
from django.conf import settings
from django.db import transaction

from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from registry import files, leftovers, registering
from registry.annotations import canonical, genbank, gff
from registry.annotations.transcripts import STANDARD, STOPS, Read, Transcript
from registry.errors import RegistrationRefused
from registry.models import Annotation, Reference
from registry.registering import UNATTENDED

FOLDER = "annotations"  # below DATA_DIR
LINE_LIMIT = 1 << 20  # bytes
INNER_STOPS = 0.25  # of a contig's proteins: with more, frame or genetic code are wrong
PROVEN = 200  # proteins of a contig that are translated
_COMPLEMENT = str.maketrans("ACGTacgt", "TGCAtgca")


@dataclass(frozen=True)
class Codes:
    """Genetic codes as the operator gives them: one for all, others for single contigs. What the file says counts first."""

    usual: int = STANDARD
    by_contig: Mapping[str, int] | None = None

    def of(self, contig: str) -> int:
        """NCBI translation table of a contig."""
        return (self.by_contig or {}).get(contig, self.usual)


def admit(
    source: Path, *, name: str, reference: Reference, codes: Codes = Codes(), actor: Actor = UNATTENDED
) -> tuple[Annotation, bool]:
    """Register a GFF3 or GenBank file for a reference; the row, and whether it is new.

    Raises `NotPermitted` before anything is read, and `RegistrationRefused` for a file that is none, or does not belong to the
    reference.
    """
    registering.require(actor, Verb.REGISTER)
    if not name.strip() or len(name) > 80:
        raise RegistrationRefused("an annotation needs a name of at most 80 characters")
    read, digest = _read(source)
    found = _resolved(read, reference)
    by_contig = _codes(found, codes)
    _prove(found, reference, by_contig)
    if (known := Annotation.objects.filter(name=name).first()) is not None:
        _same(known, digest, reference, by_contig)  # and then written again all the same: its file may be damaged
    folder = Path(settings.DATA_DIR) / FOLDER
    with leftovers.registering(folder):
        path, form = canonical.write(found, folder, order={contig["name"]: n for n, contig in enumerate(reference.contigs)})
    facts = {
        "genes": len({(t.contig, t.gene_id) for t in found}), "transcripts": len(found),
        "coding": sum(bool(t.coding) for t in found), "skipped": dict(read.skipped), "file": source.name,
    }  # fmt: skip
    place = {"path": f"{files.DATA}{FOLDER}/{path.name}", "form_sha256": form}
    columns = {
        "reference": reference, "digest": digest, "codes": by_contig, "facts": facts, "created_at": clock.now(), **place,
    }  # fmt: skip
    with transaction.atomic():
        made, new = Annotation.objects.get_or_create(name=name, defaults=columns)  # somebody else may have been quicker
        if new:
            registering.note(actor, "annotation.registered", made, {"annotation": name, "digest": digest})
    _same(made, digest, reference, by_contig)
    if not made.form_sha256:  # a row of before forms had a digest
        Annotation.objects.filter(pk=made.pk, form_sha256="").update(**place)
        made.refresh_from_db()
    return made, new


def _same(known: Annotation, digest: str, reference: Reference, codes: Mapping[str, int]) -> None:
    if (known.digest, known.reference_id, known.codes) != (digest, reference.pk, codes):
        said = f"annotation {known.name} is registered with another file, reference or genetic code; choose another --name"
        raise RegistrationRefused(said, code="annotation.differs")


def _read(source: Path) -> tuple[Read, str]:
    """What the file holds, and SHA-256 of its text, uncompressed."""
    digest = hashlib.sha256()

    def lines(text: io.BufferedIOBase) -> Iterator[str]:
        while line := text.readline(LINE_LIMIT + 1):
            if len(line) > LINE_LIMIT:
                raise RegistrationRefused(f"a line of the annotation is longer than {LINE_LIMIT:,} bytes", code="annotation.file")
            digest.update(line)
            yield line.decode("utf-8", "replace")

    try:
        with source.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(source) if packed else source.open("rb") as text:
            each = lines(text)
            first = next(each, "")
            reader = genbank.read if first.startswith("LOCUS") else gff.read
            read = reader(_with(first, each))
            for _rest in each:  # behind ##FASTA: part of the digest
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise RegistrationRefused(f"the annotation cannot be read ({error})", code="annotation.file") from error
    return read, digest.hexdigest()


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _resolved(read: Read, reference: Reference) -> list[Transcript]:
    """Transcripts under the reference's names of the contigs; those on other contigs are counted."""
    names = {alias: contig["name"] for contig in reference.contigs for alias in (*contig["aliases"], contig["name"])}
    lengths = {contig["name"]: contig["length"] for contig in reference.contigs}
    for contig, length in read.lengths.items():
        if contig in names and length > lengths[names[contig]]:
            said = f"{contig} has {length:,} bases there and {lengths[names[contig]]:,} in {reference.name}"
            raise RegistrationRefused(f"the annotation belongs to other sequences: {said}", code="annotation.reference")
    found = []
    for transcript in read.transcripts:
        if transcript.contig not in names:
            read.skipped["on contigs that are not in the reference"] += 1
            continue
        resolved = replace(transcript, contig=names[transcript.contig])
        if resolved.end > lengths[resolved.contig]:
            said = f"{resolved.name} ends at {resolved.end:,} and {resolved.contig} at {lengths[resolved.contig]:,}"
            raise RegistrationRefused(f"the annotation belongs to other sequences: {said}", code="annotation.reference")
        found.append(resolved)
    if not found:
        theirs = ", ".join(sorted({transcript.contig for transcript in read.transcripts})[:3]) or "nothing usable"
        raise RegistrationRefused(
            f"none of its contigs is in {reference.name} (it has {theirs}); give the reference an alias",
            code="annotation.reference",
        )
    return found


def _codes(found: list[Transcript], codes: Codes) -> dict[str, int]:
    """The genetic code of every contig. Raises where a contig has two, or one that is not known here."""
    said: dict[str, Counter[int]] = {}
    for transcript in found:
        said.setdefault(transcript.contig, Counter())
        if transcript.coding:
            said[transcript.contig][transcript.code or codes.of(transcript.contig)] += 1
    for contig, counted in said.items():
        if len(counted) > 1:
            both = " and ".join(map(str, sorted(counted)))
            raise RegistrationRefused(f"{contig} is translated by the tables {both}; one is supported", code="annotation.code")
    chosen = {contig: next(iter(counted), codes.of(contig)) for contig, counted in said.items()}
    for contig, code in chosen.items():
        if code not in STOPS:
            raise RegistrationRefused(f"genetic code {code} of {contig} is not supported", code="annotation.code")
    return chosen


def _prove(found: list[Transcript], reference: Reference, codes: Mapping[str, int]) -> None:
    """Translate: proteins that are full of stops belong to other sequences, another strand, or another genetic code."""
    counted: dict[str, list[int]] = {}
    with pysam.FastaFile(str(files.fasta(reference))) as bases:
        for transcript in found:
            seen = counted.setdefault(transcript.contig, [0, 0])
            if transcript.coding and seen[0] < PROVEN:
                seen[0] += 1
                seen[1] += stops_inside(transcript, bases.fetch, codes[transcript.contig])
    for contig, (proteins, broken) in counted.items():
        if broken > INNER_STOPS * proteins:
            said = f"{broken} of {proteins} proteins of {contig} have stops inside under genetic code {codes[contig]}"
            raise RegistrationRefused(
                f"{said}: give another --genetic-code, or the annotation belongs to other sequences", code="annotation.code"
            )


def stops_inside(transcript: Transcript, fetch: Callable[[str, int, int], str], code: int) -> bool:
    """Whether a stop codon stands before the last codon."""
    text = "".join(fetch(transcript.contig, start - 1, end) for start, end in transcript.coding).upper()
    if transcript.strand == "-":
        text = text.translate(_COMPLEMENT)[::-1]
    codons = [text[at : at + 3] for at in range(transcript.phase, len(text) - 2, 3)]
    return any(codon in STOPS[code] for codon in codons[:-1])
