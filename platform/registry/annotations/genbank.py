"""GenBank flat files: genes, mRNA and CDS of every record, with translation table, start of the first codon and joins."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from registry.annotations.transcripts import Read, Span, Transcript, in_order
from registry.errors import RegistrationRefused

_KEY = re.compile(r" {5}(\S+)\s+(\S.*)")
_QUALIFIER = re.compile(r"/(\w+)(?:=(.*))?$", re.DOTALL)
_RANGE = re.compile(r"<?([1-9][0-9]{0,11})(?:\.\.>?([1-9][0-9]{0,11}))?")
_NUMBER = re.compile(r"[0-9]{1,12}")
_RNA = ("mRNA", "tRNA", "rRNA", "ncRNA", "tmRNA", "misc_RNA")
_EXCEPTIONS = ("ribosomal_slippage", "trans_splicing", "exception")


@dataclass
class _Feature:
    key: str
    location: str
    qualifiers: dict[str, str] = field(default_factory=dict)

    @property
    def gene(self) -> str:
        return self.qualifiers.get("gene") or self.qualifiers.get("locus_tag") or ""


@dataclass
class _Place:
    """A location that was understood."""

    strand: str
    spans: tuple[Span, ...]  # ascending


def read(lines: Iterable[str]) -> Read:
    """Every transcript of a GenBank file. Raises `RegistrationRefused` for what is none."""
    found, name, length, table = Read(), "", 0, list[str]()
    inside = False
    for line in lines:
        if line.startswith("LOCUS"):
            words = line.split()
            name, length, table = (
                words[1] if len(words) > 1 else "",
                int(words[2]) if words[2:3] and _NUMBER.fullmatch(words[2]) else 0,
                [],
            )
        elif line.startswith("VERSION"):
            name = line.split()[1] if len(line.split()) > 1 else name
        elif line.startswith("FEATURES"):
            inside = True
        elif inside and line.startswith(" "):
            table.append(line.rstrip("\r\n"))
        elif line.startswith(("//", "ORIGIN", "CONTIG")):
            if inside:
                found.lengths[name] = length
                _record(name, list(_features(table)), found)
            inside = False
    if not found.lengths:
        raise RegistrationRefused("the file holds no GenBank record with features", code="annotation.empty")
    return found


def _features(table: list[str]) -> Iterator[_Feature]:
    """Features with their qualifiers; values that go on over several lines are joined."""
    feature: _Feature | None = None
    parts: list[str] = []
    for line in [*table, "     end             0"]:
        head = _KEY.fullmatch(line)
        text = line.strip()
        if head is None and not text.startswith("/"):
            if parts:
                parts[-1] += text if not parts[-1].startswith("/") or '="' not in parts[-1] else f" {text}"
            continue
        if head is None:
            parts.append(text)
            continue
        if feature is not None:
            feature.location = parts[0]
            feature.qualifiers = dict(_qualifiers(parts[1:]))
            yield feature
        feature, parts = _Feature(head[1], ""), [head[2].strip()]


def _qualifiers(parts: list[str]) -> Iterator[tuple[str, str]]:
    for part in parts:
        matched = _QUALIFIER.match(part)
        if matched:
            yield matched[1], (matched[2] or "").strip('"')


def _record(contig: str, features: list[_Feature], found: Read) -> None:
    rnas = [(feature, place) for feature in features if feature.key in _RNA and (place := _place(feature.location))]
    by_gene: dict[str, list[_Place]] = {}
    for rna, place in rnas:
        by_gene.setdefault(rna.gene, []).append(place)
    number = 0
    for feature in features:
        if feature.key != "CDS":
            continue
        number += 1
        place = _place(feature.location)
        reason = _unusable(feature, place)
        if reason or place is None:
            found.skipped[reason] += 1
            continue
        exons = next((rna.spans for rna in by_gene.get(feature.gene, ()) if _holds(rna, place)), place.spans)
        found.transcripts.append(_transcript(contig, feature, place, exons, f"cds{number}"))
    for number, (feature, place) in enumerate(rnas, start=1):
        if feature.key != "mRNA" and in_order(place.spans):
            found.transcripts.append(_transcript(contig, feature, place, place.spans, f"rna{number}"))


def _transcript(contig: str, feature: _Feature, place: _Place, exons: tuple[Span, ...], name: str) -> Transcript:
    said, coding = feature.qualifiers, feature.key == "CDS"
    gene = feature.gene or said.get("protein_id") or name
    start = said.get("codon_start", "1")
    return Transcript(
        contig=contig,
        strand=place.strand,
        gene=gene,
        gene_id=said.get("locus_tag") or gene,
        name=said.get("protein_id") or said.get("transcript_id") or f"{gene}.{name}",
        biotype="protein_coding" if coding else feature.key,
        exons=exons,
        coding=place.spans if coding else (),
        phase=int(start) - 1 if coding and start in "123" else 0,
        code=int(said["transl_table"]) if _NUMBER.fullmatch(said.get("transl_table", "")) else 0,
    )


def _unusable(feature: _Feature, place: _Place | None) -> str:
    if "pseudo" in feature.qualifiers or "pseudogene" in feature.qualifiers:
        return "of a pseudogene"
    if any(key in feature.qualifiers for key in _EXCEPTIONS):
        return "translated with an exception"
    if place is None:
        return "at a place that is not on this record"
    return "" if in_order(place.spans) else "of overlapping or circular parts"


def _place(location: str) -> _Place | None:
    """A location of joined ranges on one strand; None for anything else, such as parts on other records."""
    text, strand = location.replace(" ", ""), "+"
    if text.startswith("complement(") and text.endswith(")"):
        text, strand = text[len("complement(") : -1], "-"
    if text.startswith(("join(", "order(")) and text.endswith(")"):
        text = text[text.index("(") + 1 : -1]
    parts = text.split(",")
    if strand == "+" and all(part.startswith("complement(") and part.endswith(")") for part in parts):
        parts, strand = [part[len("complement(") : -1] for part in reversed(parts)], "-"
    matched = [_RANGE.fullmatch(part) for part in parts]
    if not all(matched):
        return None
    return _Place(strand, tuple((int(m[1]), int(m[2] or m[1])) for m in matched if m))


def _holds(rna: _Place, coding: _Place) -> bool:
    """Whether a coding sequence is spliced as this RNA is."""
    if rna.strand != coding.strand or not in_order(rna.spans):
        return False
    inside = [next((e for e in rna.spans if e[0] <= s[0] and s[1] <= e[1]), None) for s in coding.spans]
    if None in inside:
        return False
    first = rna.spans.index(inside[0])
    return list(rna.spans[first : first + len(inside)]) == inside and all(
        left[1] == e[1] and right[0] == n[0]
        for left, right, e, n in zip(coding.spans, coding.spans[1:], rna.spans[first:], rna.spans[first + 1 :], strict=False)
    )
