"""The standing sentences of a report. They speak of scores: no probability, no category, no diagnosis."""

from reports import wording
from reports.content import Content
from reports.models import ReportKind

NOBODY_SIGNED = "No interpretation has been written and nobody has signed. The scores below stand as the engine gave them."
NOT_WRITTEN = "No interpretation was written. The scores below stand as the engine gave them."
COMMON = "Common lower"  # the column, where the region's common variants have been scored
NOTHING_COMMON = (
    "No common variants of this region have been scored with this model version, protocol, precision, reference and deployment: "
    "the scores are compared with nothing."
)
PROBABILITY = "Probability"  # the column, where a test version has a calibration table
_SCORE = "The score says how much less (or more) expected the model finds the sequence with the change than without it."
_STANDING = (
    f"{_SCORE} It is not a probability, and no category is derived from it.",
    "No reference interval has been established for this score.",
    "Only what is listed as scored was looked at. A variant that is absent from this report was not found to be absent from the "
    "patient.",
)

_CALIBRATED = (
    f"{_SCORE} It is not a probability itself; the probability beside it holds for variants like those that the calibration table "
    "was made from, and no category is derived from either."
)


def interpretation(said: Content) -> tuple[str, ...]:
    """What the results mean, a paragraph each; or that nobody has said so."""
    if said.interpretation.text:
        return tuple(part.strip() for part in said.interpretation.text.splitlines() if part.strip())
    return (NOBODY_SIGNED if said.report.kind == ReportKind.UNSIGNED else NOT_WRITTEN,)


def interpreted_by(said: Content) -> str:
    """Who wrote it, and when; blank: nobody."""
    wrote = said.interpretation
    when = wording.moment(wrote.written_at, said.laboratory.time_zone)
    return f"Interpretation by {wrote.author}, {when}" if wrote.text else ""


def score(said: Content) -> str:
    """What the number is, with its unit."""
    if _of_variants(said):
        return f"Scores variants: Δ = log-likelihood of the window with ALT − with REF; {said.methods.unit}"
    return f"Scores sequences: log-likelihood of the whole sequence; {said.methods.unit}"


def protocol(said: Content) -> str:
    """The scoring protocol in words; that of a test is for its variants."""
    if not _of_variants(said):
        return "whole sequence, strand: forward"
    parts = {key: str(value).replace("_", " ") for key, value in sorted(said.methods.protocol.items())}
    window = parts.pop("window", "")
    strand = parts.pop("strand", "")
    kind = parts.pop("kind", "")
    named = (kind, f"window of {window} bases" if window else "", f"strand: {strand}" if strand else "")
    return ", ".join([*filter(None, named), *(f"{key} {value}" for key, value in parts.items())])


def outcome(said: Content) -> str:
    """How many were scored, and what was not."""
    failed = sum(1 for line in said.results if line.failure)
    counts = said.input.counts
    what = "variants" if _of_variants(said) else "sequences"
    said_of = ((failed, "could not be scored"), (counts.get("parked", 0), "parked"), (counts.get("refused", 0), "refused"))
    rest = [f"{wording.grouped(n)} {verb}" for n, verb in said_of if n]
    return ", ".join([f"{wording.grouped(len(said.results) - failed)} {what} scored", *rest]) + "."


def calibration(said: Content) -> str:
    """Where the probabilities come from, with the digest of the table."""
    return (
        f"Δ read from the calibration table with SHA-256 {said.methods.calibration_sha256}, linear between its rows and none "
        f"outside of them; made from: {said.methods.calibration_source}"
    )


def common(said: Content) -> tuple[str, ...]:
    """What the common variants of the region are, or that there are none to compare with; nothing of sequences."""
    of = said.common
    if of is None:
        return ()
    if not of.n:
        return (NOTHING_COMMON,)
    failed = f" {wording.grouped(of.failed)} more could not be scored." if of.failed else ""
    outside = sum(1 for line in said.results if line.delta is not None and line.common_lower is None)
    beyond = (
        f" {wording.grouped(outside)} of this report lie outside of the region, or on another scale, and have none."
        if outside
        else ""
    )
    return (
        f"{wording.grouped(of.n)} variants of {of.region} with a frequency of at least {of.minimum * 100:g} % ({of.frequencies}; "
        f"{of.frequencies_source}) were scored by the same model version, protocol, precision and deployment on the same "
        f"reference.{failed}",
        f"“{COMMON}” says of each variant how many of them have a lower Δ: a rank, and nothing else.{beyond}",
    )


def limitations(said: Content) -> tuple[str, ...]:
    """The test version's own limitations, then the standing ones and the intended use."""
    own = tuple(part.strip() for part in said.test.limitations.splitlines() if part.strip())
    standing = _STANDING if not said.methods.calibration_sha256 else (_CALIBRATED, *_STANDING[1:])
    return (*own, *standing, wording.use_statement(said.test.intended_use, validated=said.test.validated))


def _of_variants(said: Content) -> bool:
    return said.input.kind == "vcf"
