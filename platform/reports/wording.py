"""Numbers and codes as people read them. Rounding happens here and in templates, never in stored values."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from foundation.reasons import WORDS
from registry.models import IntendedUse

NOT_RECORDED = "not recorded"
DEMONSTRATION = "DEMONSTRATION – NOT FOR CLINICAL USE"
DECIMALS = 3
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")  # as the canonical content has it
_SENTENCES = WORDS | {  # and what the engine says of a window
    "window_cut_left": "The contig begins before the window does: less context than the protocol asks for.",
    "window_cut_right": "The contig ends before the window does: less context than the protocol asks for.",
    "ambiguous_bases": "The window holds bases other than A, C, G and T.",
    "unknown_tokens": "The window holds characters the model has no token for.",
}


def signed(value: float | None, decimals: int = DECIMALS) -> str:
    """A rounded number with a true minus sign; a dash where there is none."""
    return "–" if value is None else f"{value:.{decimals}f}".replace("-", "−")


def rank(lower: int | None, n: int) -> str:
    """How many of `n` lie lower; a dash where that cannot be said."""
    return "–" if lower is None else f"{lower:,} of {n:,}"


def grouped(value: int) -> str:
    """A whole number with thousands separators."""
    return f"{value:,}"


def allele(bases: str, longest: int = 14) -> str:
    """The bases, shortened with their number when there are many."""
    return bases if len(bases) <= longest else f"{bases[: longest - 4]}… ({len(bases)} bases)"


def moment(text: str, zone: str) -> str:
    """A stored UTC time in the site's zone, with the zone said; to the second."""
    if not text:
        return NOT_RECORDED
    return datetime.fromisoformat(text).astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S %Z")


def value(text: str, zone: str) -> str:
    """A field's value as it stands in a report: a stored time in the site's zone, anything else as it is, a dash for nothing."""
    return moment(text, zone) if _TIME.fullmatch(text) else text or "–"


def short(code: str) -> str:
    """A reason code in a table cell: `vcf.half-call` → `half call`."""
    return code.rpartition(".")[2].replace("-", " ").replace("_", " ")


def words(code: str) -> str:
    """A reason code as a sentence; a code with blanks to fill in, or of another part, as its own words."""
    known = _SENTENCES.get(code, "")
    return known if known and "{" not in known else f"{short(code).capitalize()}."


def explained(code: str) -> bool:
    """Whether `words` says more than `short`."""
    return words(code).rstrip(".").lower() != short(code)


def use_banner(intended_use: str, *, validated: bool) -> str:
    """What every page must carry about the intended use; empty only for a validated clinical test."""
    if intended_use == IntendedUse.CLINICAL and validated:
        return ""
    return f"RESEARCH USE ONLY · {DEMONSTRATION}" if intended_use == IntendedUse.RESEARCH else DEMONSTRATION


def use_statement(intended_use: str, *, validated: bool) -> str:
    """The same as a sentence."""
    if intended_use == IntendedUse.CLINICAL and validated:
        return "This test version is validated by the laboratory for the intended use stated in its validation record."
    return "This test version has no validation record. Its results must not be used for the care of a patient."
