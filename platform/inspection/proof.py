"""The proof in an audit pack: the links of its events, each stretch of them up to the next anchor, and those anchors.

What lies between belongs to other events, of other laboratories too: of those only number and digest are told. What no anchor holds
yet is not proven: its events are named apart.
"""

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from django.conf import settings
from django.db import connection

from audit import anchors
from audit.canonical import NOTHING, microseconds, text_by_recipe
from audit.models import Link

CHAIN, ANCHORS, UNSEALED, VERIFIER = "chain.jsonl", "anchors.txt", "unsealed.txt", "verify.py"
FILES = (CHAIN, ANCHORS, UNSEALED, VERIFIER)
_BATCH = 5_000
_LINKS = f"""
    SELECT l.seq, l.event_id, l.organisation_id::text, l.recipe, {microseconds("l.sealed_at")}, encode(l.digest, 'hex'),
        encode(l.hash, 'hex'), {text_by_recipe("l", "e")}
    FROM audit_link l LEFT JOIN audit_event e ON e.id = l.event_id AND e.id = ANY(%s) WHERE l.seq BETWEEN %s AND %s ORDER BY l.seq
"""  # noqa: S608 - made of our own column names


@dataclass
class Stretch:
    """Links [first, last]; the last one is anchored."""

    first: int
    last: int


def write(folder: Path, events: Sequence[int]) -> int:
    """Write `FILES` for these events; how many of them are proven. Raises `OSError` where the anchors cannot be read."""
    links = _links_of(events)
    heads = list(_anchors(sorted(links)))
    seqs = [seq for seq in sorted(links) if heads and seq <= heads[-1][0]]
    ours = frozenset(links[seq] for seq in seqs)
    with (folder / CHAIN).open("w", encoding="utf-8") as out:
        for stretch in _stretches(seqs, [seq for seq, _ in heads]):
            _write_links(out, stretch, ours)
    (folder / ANCHORS).write_bytes(b"".join(line + b"\n" for _, line in heads))
    (folder / UNSEALED).write_text("".join(f"{event}\n" for event in events if event not in ours), encoding="utf-8")
    (folder / VERIFIER).write_bytes((Path(settings.BASE_DIR) / "templates" / "inspection" / VERIFIER).read_bytes())
    return len(ours)


def _links_of(events: Sequence[int]) -> dict[int, int]:
    """Number of the link → event, of those that are sealed."""
    found: dict[int, int] = {}
    for first in range(0, len(events), _BATCH):
        batch = events[first : first + _BATCH]
        found |= Link.objects.filter(event_id__in=batch).values_list("seq", "event_id")
    return found


def _anchors(seqs: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Of each link the first anchor that holds it or a later one: its number and its line."""
    folder = Path(settings.AUDIT_ANCHORS)
    wanted = iter(seqs)
    seq = next(wanted, None)
    for name, number, line in anchors.lines(folder, anchors.sizes(folder)):
        if seq is None:
            return
        anchor = anchors.Anchor.read(line, name, number)
        if anchor is not None and anchor.seq >= seq:
            yield anchor.seq, line
            while seq is not None and seq <= anchor.seq:
                seq = next(wanted, None)


def _stretches(seqs: Iterable[int], heads: Iterable[int]) -> Iterator[Stretch]:
    """Each link up to its anchor, which there is; stretches that meet are one."""
    ends = iter(heads)
    end = next(ends, 0)
    found: Stretch | None = None
    for seq in seqs:
        while end < seq:
            end = next(ends)
        if found is not None and seq <= found.last + 1:
            found.last = max(found.last, end)
            continue
        if found is not None:
            yield found
        found = Stretch(seq, end)
    if found is not None:
        yield found


def _write_links(out: TextIO, stretch: Stretch, ours: Container[int]) -> None:
    before = Link.objects.filter(seq=stretch.first - 1).values_list("hash", flat=True).first()
    begin = {"after": stretch.first - 1, "before": bytes(before if before is not None else NOTHING).hex()}
    out.write(json.dumps(begin) + "\n")
    for first in range(stretch.first, stretch.last + 1, _BATCH):
        for row in _links(first, min(first + _BATCH - 1, stretch.last), ours):
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def _links(first: int, last: int, ours: Container[int]) -> Iterator[dict[str, Any]]:
    within = [event for event in Link.objects.filter(seq__range=(first, last)).values_list("event_id", flat=True) if event in ours]
    names = ("seq", "event", "organisation", "recipe", "sealed", "digest", "hash")
    with connection.cursor() as cursor:
        cursor.execute(_LINKS, [within, first, last])
        for *columns, text in cursor:
            yield {**dict(zip(names, columns, strict=True)), **({"text": text} if text is not None else {})}
