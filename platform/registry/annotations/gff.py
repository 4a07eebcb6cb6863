"""GFF3 as Ensembl, NCBI and the usual annotators of bacteria write it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from registry.annotations.transcripts import Read, Span, Transcript, in_order
from registry.errors import RegistrationRefused

_GENES = ("gene", "ncRNA_gene", "pseudogene")
_PARTS = ("exon", "CDS")
DIGITS = 12  # of a place or a length
_READ_OVER = ("region", "chromosome", "biological_region", "sequence_feature", "five_prime_UTR", "three_prime_UTR", "start_codon",
              "stop_codon")  # fmt: skip


@dataclass
class _Feature:
    """A gene, a transcript, or a CDS of several lines."""

    contig: str
    strand: str
    kind: str
    attributes: dict[str, str]
    together: bool = True  # all its parts are on its contig and strand
    exons: list[Span] = field(default_factory=list)
    coding: list[tuple[Span, int]] = field(default_factory=list)  # with the phase of each


def read(lines: Iterable[str]) -> Read:
    """Every transcript of a GFF3 file. Raises `RegistrationRefused`, with the line, for what is no GFF3."""
    found, features = Read(), dict[str, _Feature]()
    for number, line in enumerate(lines, start=1):
        if line.startswith(("##FASTA", ">")):
            break
        if line.startswith("##sequence-region"):
            _length(line, found)
        if line.strip() and not line.startswith("#"):
            _take(_columns(line, number), number, features)
    if not features:
        raise RegistrationRefused("the file holds no gene, transcript or CDS of GFF3", code="annotation.empty")
    found.transcripts.extend(_transcripts(features, found))
    return found


def _length(line: str, found: Read) -> None:
    words = line.split()
    if len(words) == 4 and words[3].isdecimal() and len(words[3]) <= DIGITS:
        found.lengths[words[1]] = int(words[3])


def _columns(line: str, number: int) -> list[str]:
    columns = line.rstrip("\r\n").split("\t")
    numbers = [int(text) if text.isdecimal() and len(text) <= DIGITS else 0 for text in columns[3:5]]
    if len(columns) != 9 or not 1 <= numbers[0] <= numbers[-1]:
        raise RegistrationRefused(f"line {number} is no line of GFF3 with nine columns, start and end", code="annotation.line")
    if columns[8].startswith(('gene_id "', 'transcript_id "')):
        raise RegistrationRefused("the file is GTF; GFF3 and GenBank are read", code="annotation.line")
    return columns


def _attributes(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {key.strip(): unquote(value) for key, _, value in pairs}


def _take(columns: list[str], number: int, features: dict[str, _Feature]) -> None:
    contig, _source, kind, start, end, _score, strand, phase, text = columns
    if kind in _READ_OVER:
        return
    attributes, span = _attributes(text), (int(start), int(end))
    if kind not in _PARTS:
        if "ID" in attributes:
            features.setdefault(attributes["ID"], _Feature(contig, strand, kind, attributes))
        return
    for owner in _owners(kind, attributes, number, features):
        feature = features.setdefault(owner, _Feature(contig, strand, kind, attributes))
        feature.together &= (feature.contig, feature.strand) == (contig, strand)
        if kind == "exon":
            feature.exons.append(span)
        else:
            feature.coding.append((span, int(phase) if phase in ("0", "1", "2") else 0))
            for key in ("transl_table", "exception", "ribosomal_slippage", "product", "locus_tag"):
                if key in attributes:
                    feature.attributes.setdefault(key, attributes[key])


def _owners(kind: str, attributes: dict[str, str], number: int, features: dict[str, _Feature]) -> list[str]:
    """The transcripts an exon or a CDS belongs to; a CDS of a gene without one is a transcript of its own."""
    parents = [parent for parent in attributes.get("Parent", "").split(",") if parent]
    own = attributes.get("ID", f"line {number}")
    if kind == "CDS":
        return [own if parent in features and features[parent].kind in _GENES else parent for parent in parents] or [own]
    return [parent for parent in parents if parent not in features or features[parent].kind not in _GENES]


def _transcripts(features: dict[str, _Feature], found: Read) -> Iterator[Transcript]:
    for key, feature in features.items():
        if not feature.exons and not feature.coding:
            continue
        coding = tuple(sorted(span for span, _ in feature.coding))
        exons = tuple(sorted(feature.exons)) or coding
        said = feature.attributes
        reason = _unusable(feature, exons, coding)
        if reason:
            found.skipped[reason] += 1
            continue
        gene = features.get(said.get("Parent", "").split(",")[0], feature)
        yield Transcript(
            contig=feature.contig,
            strand=feature.strand,
            gene=_name(gene, key),
            gene_id=gene.attributes.get("ID", key),
            name=said.get("transcript_id") or _bare(key),
            biotype="protein_coding" if coding else _biotype(feature),
            exons=exons,
            coding=coding,
            phase=_first_phase(feature) if coding else 0,
            code=_code(said.get("transl_table", "")),
        )


def _unusable(feature: _Feature, exons: tuple[Span, ...], coding: tuple[Span, ...]) -> str:
    if feature.strand not in "+-" or not feature.strand:
        return "without a strand"
    if "ribosomal_slippage" in feature.attributes or "exception" in feature.attributes:
        return "translated with an exception"
    if not feature.together:
        return "of parts on several contigs or strands"
    return "" if in_order(exons) and in_order(coding) else "of overlapping or circular parts"


def _first_phase(feature: _Feature) -> int:
    ordered = sorted(feature.coding)
    return ordered[0][1] if feature.strand == "+" else ordered[-1][1]


def _name(gene: _Feature, key: str) -> str:
    said = gene.attributes
    return said.get("Name") or said.get("gene") or said.get("locus_tag") or _bare(said.get("ID", key))


def _bare(identifier: str) -> str:
    """Without the kind that Ensembl (gene:) and NCBI (rna-) write in front."""
    for prefix in ("gene:", "transcript:", "CDS:", "gene-", "rna-", "cds-"):
        identifier = identifier.removeprefix(prefix)
    return identifier


def _biotype(feature: _Feature) -> str:
    return feature.attributes.get("biotype") or feature.attributes.get("gene_biotype") or feature.kind


def _code(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= DIGITS else 0
