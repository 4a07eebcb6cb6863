"""Figures as words, the way a laboratory says them. Pure functions; times come in as arguments."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from foundation.reasons import WORDS

CLOSE = timedelta(minutes=5)  # times nearer to each other than this are told with their seconds

PRIORITY_ICON = {"stat": "⚡", "asap": "▲", "urgent": "◆", "routine": "●"}
PRIORITY_WORD = {"stat": "STAT", "asap": "ASAP", "urgent": "URGENT", "routine": "ROUTINE"}
PRIORITY_HINT = {
    "stat": "starts before everything else; needs a reason",
    "asap": "next, before urgent work",
    "urgent": "before routine work",
    "routine": "in turn",
}

_PARKED = (
    " Nothing is scored. This version has no page to settle it on: cancel this order and place it again with the right details."
)
# What can be done about an order that was parked before anything was scored.
WAYS_OUT = {"identity.mismatch": "decide who it is", "order.conflict": "decide which order it is"}
# Flags on orders and jobs that a person must look at: what happened, and what comes next.
FLAGS = {
    "identity.mismatch": "Identity check: this MRN is known with another name, birth date or sex."
    " Nothing is scored until a person has decided who it is.",
    "order.conflict": "Order number in use: it already stands for another order."
    " Nothing is scored until a person has decided which order it is.",
    # said of accepted records in general; each record's own words hold its figures
    "vcf.duplicate": "The same variant is in the file more than once; each line is scored.",
    "vcf.filter": "The caller's filter is not PASS.",
    "vcf.half-call-carried": "Only one allele was called: zygosity unknown.",
    "seq.ambiguous": "Some bases are N or ambiguity codes.",
    "seq.rna": "U (RNA) was read as T.",
    "stat.reason-missing": "STAT without a reason: somebody has to say why.",
    "specimen.rejected": "Specimen rejected: have a new one collected, cancel, or let it go on where no other can be had.",
    "result.item-failed": "At least one item could not be scored; the results name it and say why.",
}


def time_left(seconds: float) -> str:
    """How far a due time is away: "58 s left", "3 h 10 min left", "3 min over"."""
    over, whole = seconds < 0, int(abs(seconds))
    minutes, hours, tail = whole // 60, whole // 3600, "over" if seconds < 0 else "left"
    if whole < 60:
        return f"{whole} s {tail}"
    if minutes < 5 and not over:
        return f"{minutes} min {whole % 60} s {tail}"
    if minutes < 60:
        return f"{minutes} min {tail}"
    if hours < 10:
        return f"{hours} h {minutes % 60} min {tail}"
    return f"{hours} h {tail}" if hours < 48 else f"{hours // 24} days {tail}"


def duration(seconds: float) -> str:
    """A length of time, rounded to what matters: "0.4 s", "21 s", "12 min", "3 h 10 min"."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{round(whole / 60)} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def span(seconds: float) -> str:
    """A length of time that may be long: as `duration`, and in days from two on."""
    return f"{seconds / 86_400:.1f} days" if seconds >= 2 * 86_400 else duration(seconds)


def duration_range(low: float, high: float) -> str:
    """An honest estimate: "4 to 9 s"; both ends in the unit of the upper one."""
    if high < 1:
        return "less than a second"
    if high < 120:
        return f"{max(1, round(low))} to {max(2, round(high))} s"
    if high < 7200:
        return f"{max(1, round(low / 60))} to {max(2, round(high / 60))} min"
    return f"{max(1, round(low / 3600))} to {max(2, round(high / 3600))} h"


def between(low: datetime, high: datetime) -> str:
    """How exactly a range of moments is worth being said: "seconds" when its ends are near to each other, else ""."""
    return "seconds" if high - low < CLOSE else ""


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def counted(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: "1 variant", "1,139 variants"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def day_and_time(moment: datetime, *, now: datetime, zone: ZoneInfo, seconds: bool = False) -> str:
    """A time in the site's zone, with as much of the date as is needed: "14:07", "tomorrow 09:00", "3 Dec 09:00"."""
    local, today = moment.astimezone(zone), now.astimezone(zone).date()
    clock = f"{local:%H:%M:%S}" if seconds else f"{local:%H:%M}"
    near = {today: "", today + timedelta(days=1): "tomorrow ", today - timedelta(days=1): "yesterday "}
    if local.date() in near:
        return near[local.date()] + clock
    year = "" if local.year == today.year else f" {local.year}"
    return f"{local.day} {local:%b}{year} {clock}"


def zone_name(moment: datetime, zone: ZoneInfo) -> str:
    """The zone as a person knows it and as it cannot be mistaken: "Europe/Berlin, CET, UTC+1"."""
    local = moment.astimezone(zone)
    minutes = int((local.utcoffset() or timedelta()).total_seconds() // 60)
    sign, hours, rest = "+" if minutes >= 0 else "−", abs(minutes) // 60, abs(minutes) % 60
    offset = f"UTC{sign}{hours}" + (f":{rest:02d}" if rest else "") if minutes else ""
    return ", ".join(dict.fromkeys(part for part in (zone.key, local.tzname() or "", offset) if part))


def parked(code: str) -> bool:
    """Whether an order with this flag waits, before anything is scored, for what `WAYS_OUT` says."""
    return code in WAYS_OUT


def flag(code: str) -> str:
    """The words of a flag or reason code; the code itself where nobody has written words for it yet."""
    if code in FLAGS:
        return FLAGS[code]
    words = WORDS.get(code, "")
    return words if words and "{" not in words else code.replace(".", ": ", 1).replace("-", " ").replace("_", " ").capitalize()


def file_size(count: int) -> str:
    """Sizes: "812 bytes", "14 kB", "3.2 MB"."""
    if count < 1000:
        return counted(count, "byte")
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB" if count < 100_000_000 else f"{count / 1_000_000:,.0f} MB"
