"""The common variants of a region as a report tells them: counted by Δ in even steps, and for each variant how many lie lower."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from reports import locus
from reports.backgrounds import Beside
from reports.content import Common, ResultLine

BINS = 24  # about


def ranked(lines: Iterable[ResultLine], background: Beside | None) -> list[ResultLine]:
    """The lines with their ranks; without a background with none."""
    if background is None:
        return [line if line.common_lower is None else replace(line, common_lower=None) for line in lines]
    lower = background.lower
    return [replace(one, common_lower=lower(one.contig, one.position, one.delta, one.flags)) for one in lines]


def said(background: Beside | None) -> Common:
    """What a report says of a background; blank where there is none."""
    if background is None:
        return Common()
    row, deltas = background.row, background.deltas
    step = locus.step((deltas[-1] - deltas[0]) / BINS or 1.0)
    first = math.floor(deltas[0] / step)
    counted = Counter(math.floor(delta / step) - first for delta in deltas)
    of = row.frequencies
    return Common(
        n=len(deltas), failed=row.failed, sha256=row.sha256, run=str(row.run_id), fingerprint=row.fingerprint, frequencies=of.name,
        frequencies_digest=of.digest, frequencies_source=of.source, region=of.region, minimum=of.minimum, low=first * step,
        step=step, counts=[counted[place] for place in range(max(counted) + 1)],
    )  # fmt: skip
