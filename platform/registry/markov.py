"""The baseline beside every score: a Markov chain of low order, fitted on the test's whole reference and kept with its digest.

p_j(base | context) = (count + STRENGTH · p_{j−1}(base | shorter context)) / (count of the context + STRENGTH), from p_{−1} = 1/4:
counts of the context, smoothed by the order below (Jelinek and Mercer's interpolation with a fixed weight in observations).
The score of a change is the log-likelihood of the alternate allele and the `order` bases behind it, less that of the reference.
"""

import hashlib
import math
from collections.abc import Callable
from functools import lru_cache
from uuid import UUID

import numpy as np
import pysam
from numpy.typing import NDArray

from registry import files
from registry.models import MarkovTable, Reference

ORDER = 5  # of the table that registration fits
HIGHEST = 8
BLOCK = 1 << 20  # bases read at a time
STRENGTH = 10.0  # how many observations the shorter context is worth
_CODES = np.full(256, 4, np.uint8)
_CODES[list(b"ACGT")] = range(4)
_CODES[list(b"acgt")] = range(4)
_CODED = _CODES.tobytes()  # the same, to translate a text at once

Tables = tuple[NDArray[np.float64], ...]  # by order j: (4 ** j, 4) natural logarithms


class Counting:
    """Counts every run of `order` + 1 known bases, forward strand, never across contigs; fed in pieces of any size."""

    def __init__(self, order: int = ORDER) -> None:
        if not 0 <= order <= HIGHEST:
            raise ValueError(f"the order lies between 0 and {HIGHEST}, not {order}")
        self.order = order
        self.counts: NDArray[np.int64] = np.zeros(4 ** (order + 1), np.int64)
        self._tail = np.empty(0, np.uint8)

    def feed(self, bases: bytes) -> None:
        """The next bases of the contig."""
        codes = np.concatenate([self._tail, _CODES[np.frombuffer(bases, np.uint8)]])
        runs = max(len(codes) - self.order, 0)
        number, known = np.zeros(runs, np.int32), np.ones(runs, np.bool_)
        for place in range(self.order + 1 if runs else 0):
            part = codes[place : place + runs]
            number = number * 4 + part
            known &= part < 4
        self.counts += np.bincount(number[known], minlength=len(self.counts))
        self._tail = codes[runs:]

    def end(self) -> None:
        """The contig ends here."""
        self._tail = np.empty(0, np.uint8)


def keep(reference: Reference, counting: Counting) -> MarkovTable:
    """Keep the counts of a reference; the same row when it has some."""
    stored = counting.counts.astype("<i8").tobytes()
    made, _ = MarkovTable.objects.get_or_create(
        reference=reference,
        defaults={"order": counting.order, "counts": stored, "sha256": hashlib.sha256(stored).hexdigest()},
    )
    return made


def fit(reference: Reference, order: int = ORDER) -> MarkovTable:
    """Count a reference whose file lies where its row says; the row it has, when it has been counted."""
    known = MarkovTable.objects.filter(reference=reference).first()
    if known is not None:
        return known
    counting = Counting(order)
    with pysam.FastaFile(str(files.fasta(reference))) as opened:
        for contig, length in zip(opened.references, opened.lengths, strict=True):
            for start in range(0, length, BLOCK):
                counting.feed(opened.fetch(contig, start, min(start + BLOCK, length)).encode())
            counting.end()
    return keep(reference, counting)


def tables(reference_id: UUID) -> Tables | None:
    """The fitted chain of a reference; None where none was fitted."""
    row = MarkovTable.objects.filter(reference_id=reference_id).defer("counts").first()
    return None if row is None else _tables(reference_id)


@lru_cache(maxsize=8)
def _tables(reference_id: UUID) -> Tables:
    """Read once a process: a row never changes."""
    counts = bytes(MarkovTable.objects.get(reference_id=reference_id).counts)
    return fitted(np.frombuffer(counts, "<i8").astype(np.int64))


def fitted(counts: NDArray[np.int64]) -> Tables:
    """Logarithms of the probabilities of every order up to that of the counts."""
    by_order = [counts.reshape(-1, 4).astype(np.float64)]
    while by_order[0].shape[0] > 1:  # the oldest base is the highest digit: a shorter context is the sum over it
        by_order.insert(0, by_order[0].reshape(4, -1, 4).sum(axis=0))
    probability, found = np.full((1, 4), 0.25), []
    for j, seen in enumerate(by_order):
        shorter = probability if j == 0 else np.tile(probability, (4, 1))
        probability = (seen + STRENGTH * shorter) / (seen.sum(axis=1, keepdims=True) + STRENGTH)
        found.append(np.log(probability))
    return tuple(found)


def delta(chain: Tables, fetch: Callable[[int, int], str], position: int, ref: str, alt: str) -> float:
    """ln p(alternate) − ln p(reference), in nats, of a change at a 1-based position; `fetch` gives bases of [start, end), 0-based.

    Bases further behind than the order have the same probability in both and cancel.
    """
    order, start = len(chain) - 1, position - 1
    left = fetch(max(start - order, 0), start)
    right = fetch(start + len(ref), start + len(ref) + order)
    _, context, known = _walked(chain, left, 0, 0)
    return math.fsum(_walked(chain, alt + right, context, known)[0]) - math.fsum(_walked(chain, ref + right, context, known)[0])


def _walked(chain: Tables, bases: str, context: int, known: int) -> tuple[list[float], int, int]:
    """The logarithms of `bases` behind a context, which is a base-4 number of `known` digits; and the context behind them.

    A base that is not known adds nothing, and the context begins anew behind it.
    """
    terms, order = [], len(chain) - 1
    for code in bases.encode("ascii", "replace").translate(_CODED):
        if code > 3:
            context, known = 0, 0
            continue
        terms.append(chain[known].item(context, code))
        known = known + 1 if known < order else order
        context = (context * 4 + code) & ((1 << 2 * known) - 1)
    return terms, context, known
