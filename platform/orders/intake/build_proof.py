"""Is this the reference the file was made with? Shown by the REF column, since names and headers are often wrong."""

from __future__ import annotations

from foundation.file_reasons import FileReason
from orders.intake.errors import FileRefused
from orders.intake.reference import ReferenceView
from orders.intake.verdicts import Tally

# A file of the right build agrees everywhere; one of a wrong build agrees by chance in about three of ten records.
SURE_AFTER, MUST_AGREE = 20, 0.90
LIKELY_AFTER, LIKELY_WRONG = 4, 0.50


def watch(reference: ReferenceView, tally: Tally) -> None:
    """While reading: stop early where a long file cannot belong to this reference."""
    if tally.ref_checked >= tally.limits.proof_sample:
        _require(reference, tally)


def conclude(reference: ReferenceView, tally: Tally) -> None:
    """After the last record: refuse the wrong reference, say so where only REF speaks for the right one."""
    _require(reference, tally)
    if tally.ref_checked and not tally.lengths_matched:
        tally.note(FileReason.VCF_BUILD_UNPROVEN, None, detail=_detail(tally))


def _require(reference: ReferenceView, tally: Tally) -> None:
    checked = tally.ref_checked
    if not checked:
        return
    rate = tally.ref_matched / checked
    if (checked >= SURE_AFTER and rate < MUST_AGREE) or (checked >= LIKELY_AFTER and rate < LIKELY_WRONG):
        reason = FileReason.VCF_WRONG_REFERENCE if rate < LIKELY_WRONG else FileReason.VCF_MIXED_REFERENCE
        raise FileRefused(reason, reference=reference.name, detail=_detail(tally))


def _detail(tally: Tally) -> str:
    return f"REF agrees in {tally.ref_matched:,} of {tally.ref_checked:,} records"
