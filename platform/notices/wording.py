"""A notice in words that name nobody: what happened, by its kind and its codes."""

from collections.abc import Mapping
from typing import Any

CLOCKS = {"result": "results", "report": "the report"}
KINDS = (
    "order.escalated",
    "order.demoted",
    "order.specimen_rejected",
    "order.rejection_taken_back",
    "order.part_waits",
    "report.issued",
    "report.corrected",
    "report.recalled",
    "critical.open",
    "audit.broken",
    "audit.trouble",
    "break_glass.opened",
    "drift.called",
    "webhook.test",
)


def words(kind: str, facts: Mapping[str, Any]) -> str:
    """The sentence of a notice, without the number of the order it speaks of."""
    match kind:
        case "order.escalated":
            what = CLOCKS.get(str(facts.get("clock")), "results")
            level = int(facts.get("level", 0))
            if level >= 100:
                return f"{what} {'are' if what == 'results' else 'is'} late: decide whom to tell of the delay"
            return f"{level} % of the time to {what} is used"
        case "order.demoted":
            return f"was made less urgent by {facts.get('by', 'somebody')}: {facts.get('from')} → {facts.get('to')}"
        case "order.specimen_rejected":
            return "its specimen was rejected: without a new one there is no result"
        case "order.rejection_taken_back":
            return "the rejection of its specimen was a mistake and was taken back: nothing new is needed"
        case "order.part_waits":
            return f"a part of it waits for a person; {facts.get('person', 'somebody')} is named to see to it"
        case "report.issued":
            return f"a report is issued to you, version {facts.get('number')}{_replaces(facts)}"
        case "report.corrected":
            issued = f"{facts.get('kind')}: version {facts.get('number')} of its report is issued"
            return f"{issued}{_replaces(facts)}; say that you have read it"
        case "report.recalled":
            return "its report was recalled: nothing of it is valid any more; say that you have read this"
        case "critical.open":
            return f"a critical result waits for its call; {facts.get('minutes')} minutes and nobody has read it back"
        case "audit.broken":
            return f"the audit trail is not as it was sealed: {facts.get('words')} Found in all: {facts.get('found')}"
        case "audit.trouble":
            return str(facts.get("words"))
        case "break_glass.opened":
            return f"{facts.get('person')} of {facts.get('organisation')} opened a patient's reports by break-glass: review it"
        case "drift.called":
            where = f"{facts.get('test')}, {facts.get('feature')}, {facts.get('day')}"
            return f"outputs have moved away from those of the validation ({where}): look at the drift page"
        case "webhook.test":
            return "a test message, asked for on the page of webhooks"
    return kind.replace(".", ": ").replace("_", " ")


def _replaces(facts: Mapping[str, Any]) -> str:
    return f", which replaces version {facts['replaces']}" if facts.get("replaces") else ""
