"""Genes for the picture and the report, from a reference's annotation file: contig, start, end, strand, gene."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from registry import files
from registry.models import Reference
from reports.content import Gene, ResultLine

LISTED = 200  # genes a report names; a longer region is shown without


def overlapping(reference: Reference | None, lines: Sequence[ResultLine]) -> list[Gene]:
    """The genes that overlap the scored region of each contig; none where there is no annotation, or too many of them."""
    path = files.annotation(reference) if reference else None
    if path is None or not path.is_file():
        return []
    spans = _spans(lines)
    found = [g for g in _genes(path, path.stat().st_mtime_ns) if g.contig in spans and _touches(g, spans[g.contig])]
    return found if len(found) <= LISTED else []


def _spans(lines: Sequence[ResultLine]) -> dict[str, tuple[int, int]]:
    spans: dict[str, tuple[int, int]] = {}
    for line in lines:
        low, high = spans.get(line.contig, (line.position, line.position))
        spans[line.contig] = min(low, line.position), max(high, line.position + len(line.ref), line.end_position)
    return spans


def _touches(gene: Gene, span: tuple[int, int]) -> bool:
    return gene.start <= span[1] and gene.end >= span[0]


@lru_cache(maxsize=8)
def _genes(path: Path, modified: int) -> tuple[Gene, ...]:
    del modified  # part of the key: a changed file is read again
    return tuple(_read(path))


def _read(path: Path) -> Iterator[Gene]:
    for row in path.read_text(encoding="utf-8").splitlines():
        columns = row.split("\t")
        if len(columns) >= 5 and columns[1].isdecimal() and columns[2].isdecimal():  # passes over a heading and comments
            yield Gene(columns[0], int(columns[1]), int(columns[2]), columns[3], columns[4])
