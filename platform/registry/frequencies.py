"""Variants of a region that many people carry, by the digest of the file that says so: what a scored variant is seen beside.

A VCF, plain or gzip, with `AF` or `MAF` in INFO. Kept are the changes of the region whose frequency is at least the one that was
asked for. Of a `MAF` nothing says which allele is the rarer one; where it is large enough, either one is common.
"""

import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pysam
from django.db import transaction

from accounts.roles import Verb
from foundation import clock
from foundation.actor import Actor
from registry import files, registering
from registry.errors import RegistrationRefused
from registry.models import Frequencies, Reference
from registry.registering import UNATTENDED

LARGEST = 50_000  # variants of one region
LINE_LIMIT = 1 << 20  # bytes
FIELDS = ("AF", "MAF")  # of INFO, the first that is there
_BASES = re.compile(r"[ACGT]+")
_REGION = re.compile(r"(?P<contig>[^:\s]+)(:(?P<start>\d{1,10})-(?P<end>\d{1,10}))?")

Change = tuple[str, int, str, str, float]  # contig, position (1-based), ref, alt, frequency


@dataclass(frozen=True)
class Region:
    """Where variants are kept; both ends included, 1-based."""

    contig: str
    start: int
    end: int


def admit(
    source: Path, *, name: str, reference: Reference, minimum: float, said: str, region: str = "", actor: Actor = UNATTENDED
) -> tuple[Frequencies, bool]:
    """Register a file for a region of a reference; the row, and whether it is new. `said` tells where its figures come from.

    Raises `NotPermitted` before anything is read, and `RegistrationRefused` for a file that is none, or does not belong to the
    reference.
    """
    registering.require(actor, Verb.REGISTER)
    if not name.strip() or len(name) > 80 or not said.strip():
        raise RegistrationRefused("frequencies need a name of at most 80 characters, and their source")
    if not 0 < minimum <= 0.5:
        raise RegistrationRefused(f"a common variant has a frequency of more than 0 and at most 0.5 at least, not {minimum}")
    where, counted = _region(region, reference), Counter[str]()
    text, digest = _text(source)
    rows = list(_common(text, reference, where, minimum, counted))
    if not rows or len(rows) > LARGEST:
        raise RegistrationRefused(f"{source.name} has {len(rows):,} common variants in this region; 1 to {LARGEST:,} can be kept")
    sha256 = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    facts = {"file": source.name, "kept": len(rows), "left": dict(counted)}
    columns = {
        "reference": reference, "digest": digest, "contig": where.contig, "start": where.start, "end": where.end,
        "minimum": minimum, "rows": rows, "sha256": sha256, "source": said, "facts": facts, "created_at": clock.now(),
    }  # fmt: skip
    with transaction.atomic():
        made, new = Frequencies.objects.get_or_create(name=name, defaults=columns)
        if new:
            registering.note(actor, "frequencies.registered", made, {"frequencies": name, "digest": digest, "sha256": sha256})
    if (made.digest, made.sha256, made.reference_id) != (digest, sha256, reference.pk):
        raise RegistrationRefused(f"frequencies {name} are registered with another file, region or minimum; choose another name")
    return made, new


def _text(source: Path) -> tuple[list[str], str]:
    """The lines, and SHA-256 of the text, uncompressed."""
    digest, lines = hashlib.sha256(), []
    try:
        with source.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(source) if packed else source.open("rb") as opened:
            while line := opened.readline(LINE_LIMIT + 1):
                if len(line) > LINE_LIMIT:
                    raise RegistrationRefused(f"a line of {source.name} is longer than {LINE_LIMIT:,} bytes")
                digest.update(line)
                lines.append(line.decode("utf-8", "replace").rstrip("\r\n"))
    except (OSError, EOFError, zlib.error) as error:
        raise RegistrationRefused(f"the frequencies cannot be read ({error})") from error
    return lines, digest.hexdigest()


def _region(asked: str, reference: Reference) -> Region:
    """What was asked for; of a reference with one contig, the whole of it where nothing was."""
    lengths = {contig["name"]: int(contig["length"]) for contig in reference.contigs}
    if not asked and len(lengths) == 1:
        asked = next(iter(lengths))
    found = _REGION.fullmatch(asked)
    contig = _names(reference).get(found["contig"], "") if found else ""
    if found is None or not contig:
        raise RegistrationRefused(f"say of which region: CONTIG or CONTIG:START-END of {reference.name}")
    start, end = (int(found["start"]), int(found["end"])) if found["start"] else (1, lengths[contig])
    if not 1 <= start <= end <= lengths[contig]:
        raise RegistrationRefused(f"{contig} has the positions 1 to {lengths[contig]:,}")
    return Region(contig, start, end)


def _names(reference: Reference) -> dict[str, str]:
    return {alias: contig["name"] for contig in reference.contigs for alias in (*contig["aliases"], contig["name"])}


def _common(lines: list[str], reference: Reference, where: Region, minimum: float, counted: Counter[str]) -> Iterator[Change]:
    names, seen = _names(reference), set()
    with pysam.FastaFile(str(files.fasta(reference))) as bases:
        for line in lines:
            if not line or line.startswith("#"):
                continue
            for contig, position, ref, alt, frequency in _changes(line):
                name = names.get(contig, "")
                if name != where.contig or not where.start <= position <= where.end:
                    counted["outside of the region"] += 1
                elif frequency is None or frequency < minimum:
                    counted["rarer, or without a frequency"] += 1
                elif not (_BASES.fullmatch(ref) and _BASES.fullmatch(alt)) or (position, ref, alt) in seen:
                    counted["not written out in A, C, G and T, or there already"] += 1
                else:
                    _require_ref(bases.fetch, name, position, ref)
                    seen.add((position, ref, alt))
                    yield name, position, ref, alt, frequency


def _require_ref(fetch: Callable[[str, int, int], str], contig: str, position: int, ref: str) -> None:
    found = fetch(contig, position - 1, position - 1 + len(ref)).upper()
    if found != ref:
        said = f"REF is {ref} at {contig}:{position:,} and the reference has {found or 'nothing'}"
        raise RegistrationRefused(f"the frequencies belong to other sequences: {said}")


def _changes(line: str) -> Iterator[tuple[str, int, str, str, float | None]]:
    columns = line.split("\t")
    if len(columns) < 8 or not columns[1].isdecimal():
        raise RegistrationRefused(f"this is no record of a VCF: {line[:60]}")
    alternates, given = columns[4].upper().split(","), _given(columns[7])
    for alt, frequency in zip(alternates, given + [None] * len(alternates), strict=False):
        yield columns[0], int(columns[1]), columns[3].upper(), alt, frequency


def _given(info: str) -> list[float | None]:
    """Frequencies in the order of the alternates."""
    fields = dict(part.partition("=")[::2] for part in info.split(";"))
    return [_number(one) for one in next((fields[name] for name in FIELDS if name in fields), "").split(",")]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
