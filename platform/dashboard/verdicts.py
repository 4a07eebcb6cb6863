"""The verdict on an upload, as the order form shows it before anything is ordered."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, SmallIntegerField, When

from dashboard.wording import between, counted, duration, duration_range, flag
from engine_queue.selectors import workers
from foundation import clock
from orders import selectors
from orders.estimates import Expectation, estimate
from orders.models import Intake, IntakeRecord
from reports.services import LARGEST

OUTCOMES = (
    ("accepted", "accepted", "will be scored"),
    ("parked", "parked", "sound, not scored by this version"),
    ("refused", "refused", "wrong in itself"),
    ("not_carried", "not carried", "the sample does not have it"),
    ("no_call", "no call", "not known whether the sample has it"),
)
GRAVEST_FIRST = ("refused", "parked", "no_call", "not_carried")
SHOWN = 5  # lines named for each remark
LISTED = 200  # exceptions shown; the file's owner mends the file long before that
PATIENCE = timedelta(seconds=10)  # after which a check that has not begun is worth a word


@dataclass(frozen=True)
class Count:
    """One outcome with its number of record × ALT."""

    key: str
    label: str
    hint: str
    number: int


@dataclass(frozen=True)
class Remark:
    """One thing said of accepted records: they are scored, and somebody may want to know."""

    code: str
    words: str
    number: int  # of records; 0: not counted
    lines: list[int]  # the first of them


@dataclass(frozen=True)
class Forecast:
    """What placing it now with this priority would mean."""

    priority: str
    ahead: int
    words: str  # empty: not measured yet, or nobody serves it
    served: bool  # by a worker that lives
    too_late: str = ""  # the time that the test promises, where this takes longer
    earliest: datetime | None = None
    latest: datetime | None = None

    @property
    def style(self) -> str:
        """How exactly the times are worth being said."""
        return between(self.earliest, self.latest) if self.earliest and self.latest else ""


@dataclass(frozen=True)
class Verdict:
    """One intake with everything the form says about it."""

    intake: Intake
    counts: list[Count]
    fatal: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    exceptions: list[IntakeRecord]
    preview: list[IntakeRecord]
    forecasts: list[Forecast]
    tokens: int
    remarks: list[Remark]

    @property
    def items(self) -> int:
        """What will be scored."""
        return int(self.intake.counts.get("accepted", 0))

    @property
    def too_many(self) -> int:
        """How many results a report holds, where this file has more; else 0."""
        return LARGEST if self.items > LARGEST else 0

    @property
    def pending(self) -> bool:
        """Still waiting or being checked."""
        return self.intake.state in ("waiting", "checking")

    @property
    def overdue(self) -> bool:
        """Nobody has taken the check up for some seconds."""
        return self.intake.state == "waiting" and clock.now() - self.intake.created_at > PATIENCE

    @property
    def waiting_words(self) -> str:
        """Why a check has not begun: nobody is there to take it up, or everybody who is there has other work."""
        if any(worker.alive for worker in workers("platform")):
            return "The platform worker is busy with other work and takes this up after it."
        return "No platform worker is running: tell your operator."

    @property
    def asks_for_sample(self) -> bool:
        """Refused only because one of several samples has to be chosen first."""
        return self.intake.state == "refused" and bool(self.fatal) and all(p["code"] == "vcf.sample-choice" for p in self.fatal)

    @property
    def incomplete(self) -> str:
        """What a ready input leaves out that somebody may miss."""
        number = sum(count.number for count in self.counts if count.key in ("refused", "parked"))
        left_out = [
            f"{count.number:,} {count.label}" for count in self.counts if count.number and count.key in ("refused", "parked")
        ]
        return f"without {counted(number, 'record')} ({' and '.join(left_out)})" if number else ""

    @property
    def unlisted(self) -> int:
        """Exceptions beyond those listed."""
        return max(0, sum(count.number for count in self.counts if count.key != "accepted") - len(self.exceptions))

    @property
    def spoken(self) -> str:
        """One sentence for somebody who does not see the panel."""
        if self.pending:
            return "Checking the input."
        if self.asks_for_sample:
            return "Choose the sample of the file that is this specimen."
        if self.intake.state == "refused":
            return f"The input is refused. {self.fatal[0]['reason'] if self.fatal else ''}".strip()
        said = [f"{count.number:,} {count.label}" for count in self.counts if count.number or count.key == "accepted"]
        return f"The input is checked: {', '.join(said)}."

    @property
    def build_words(self) -> str:
        """How the reference was proven, from what the check found."""
        build = self.intake.facts.get("build") or {}
        parts = []
        if build.get("ref_checked"):
            parts.append(f"REF equals the reference in {build['ref_matched']:,} of {counted(build['ref_checked'], 'record')}")
        if build.get("lengths_matched"):
            parts.append(f"length of {counted(len(build['lengths_matched']), 'contig')} in the header matches")
        return "; ".join(parts)


def verdict(intake: Intake) -> Verdict:
    """Gather what is known of an intake now."""
    settled = intake.state in ("ready", "refused")
    fatal = [p for p in intake.problems if p.get("fatal")]
    forecasts, tokens = _forecasts(intake) if intake.state == "ready" else ([], 0)
    return Verdict(
        intake=intake,
        counts=[Count(key, label, hint, int(intake.counts.get(key, 0))) for key, label, hint in OUTCOMES]
        if any(intake.counts.values())
        else [],
        fatal=fatal,
        notes=[p for p in intake.problems if not p.get("fatal")],
        exceptions=exceptions(intake, LISTED) if settled else [],
        preview=selectors.intake_preview(intake, limit=5) if intake.state == "ready" else [],
        forecasts=forecasts,
        tokens=tokens,
        remarks=remarks(intake) if intake.state == "ready" else [],
    )


def remarks(intake: Intake) -> list[Remark]:
    """Flags of accepted records. Only codes that the check has counted are looked for, and only their first lines."""
    found = []
    for code, number in intake.facts.get("codes", {}).items():
        flagged = intake.rows.filter(outcome="accepted", flags__contains=[code]).order_by("line")
        lines = list(flagged.values_list("line", flat=True)[:SHOWN])
        if lines:
            found.append(Remark(code, flag(code), int(number), lines))
    return found


def exceptions(intake: Intake, limit: int) -> list[IntakeRecord]:
    """Records that were not accepted, the gravest first: in a file of many samples, thousands are simply not carried."""
    rank = Case(*(When(outcome=key, then=n) for n, key in enumerate(GRAVEST_FIRST)), output_field=SmallIntegerField())
    return list(intake.rows.exclude(outcome="accepted").order_by(rank, "line", "alt_index")[:limit])


def _forecasts(intake: Intake) -> tuple[list[Forecast], int]:
    found, now = estimate(intake), clock.now()
    promised, deployment = intake.test_version.sla_minutes, intake.test_version.deployment.name
    served = any(worker.alive and deployment in worker.deployments for worker in workers())
    made = [_forecast(expected, now, promised[expected.priority][0] * 60, served) for expected in found.expectations]
    return made, found.tokens


def _forecast(expected: Expectation, now: datetime, promised: float, served: bool) -> Forecast:
    low, high = expected.seconds_low, expected.seconds_high
    if low is None or high is None or not served:
        return Forecast(expected.priority, expected.ahead, "", served)
    ends = [now + timedelta(seconds=seconds) for seconds in (low, high)]
    words = duration_range(low, high) if high < 1 else f"about {duration_range(low, high)}"
    return Forecast(expected.priority, expected.ahead, words, served, duration(promised) if high > promised else "", *ends)
