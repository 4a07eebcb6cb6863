"""What our states are in FHIR, as one table (PLATFORM “Release”). Every state of the machines has a row; a test counts them."""

from dataclasses import dataclass

from interop.models import FhirOrder
from orders.models import Order
from reports.models import ReportKind, ReportVersion


@dataclass(frozen=True)
class Statuses:
    """Of the three resources that tell of one order; without a report, there is none to ask for."""

    request: str  # ServiceRequest
    task: str
    report: str | None


# Before a report version is released, its status is `registered` and it holds no result, whatever the state.
ORDERS = {
    "draft": Statuses("draft", "draft", None),
    "submitted": Statuses("active", "requested", "registered"),
    "accepted": Statuses("active", "accepted", "registered"),
    "in_analysis": Statuses("active", "in-progress", "registered"),
    "awaiting_review": Statuses("active", "in-progress", "registered"),
    "awaiting_second_review": Statuses("active", "in-progress", "registered"),
    "reported": Statuses("completed", "completed", "registered"),
    "rejected": Statuses("revoked", "rejected", "cancelled"),
    "cancelled": Statuses("revoked", "cancelled", "cancelled"),
    "entered_in_error": Statuses("entered-in-error", "entered-in-error", "entered-in-error"),
}
ON_HOLD = {"submitted", "accepted", "in_analysis", "awaiting_review", "awaiting_second_review"}  # where a hold shows
# What was asked for by FHIR and is no order yet, or never became one.
ASKED = {
    "waiting": Statuses("active", "received", None),
    "parked": Statuses("active", "on-hold", None),
    "placed": None,  # its order says
    "closed": Statuses("revoked", "rejected", None),
}
KINDS = {  # of a released report version; what is unsigned is never released
    ReportKind.UNSIGNED: None,
    ReportKind.PRELIMINARY: "preliminary",
    ReportKind.FINAL: "final",
    ReportKind.CORRECTED: "corrected",
    ReportKind.AMENDED: "amended",
    # A study report is signed and is not for clinical use: no reader may take it for a final result.
    ReportKind.STUDY: "preliminary",
    ReportKind.STUDY_CORRECTED: "preliminary",
    ReportKind.STUDY_AMENDED: "preliminary",
}
VERSIONS = {  # states of a report version: what its report is, where that is not for its kind or the order to say
    "draft": None,
    "released": None,
    "discarded": None,
    "superseded": None,
    "entered_in_error": "entered-in-error",
}
PRIORITIES = {"stat": "stat", "asap": "asap", "urgent": "urgent", "routine": "routine"}


def of_order(order: Order) -> Statuses:
    """Request and task of an order; the report until one is released. Hold and parking come before the state."""
    plain = ORDERS[order.state]
    if order.hold_reason and order.state in ON_HOLD:
        return Statuses("on-hold", "on-hold", plain.report)
    if order.attention and order.state == "submitted":  # a person settles it before anything begins
        return Statuses(plain.request, "on-hold", plain.report)
    return plain


def of_asked(asked: FhirOrder) -> Statuses:
    """The same for what is no order yet."""
    found = ASKED[asked.state]
    if found is None:
        raise LookupError("a placed one is told by its order")
    return found


def of_report(order: Order, newest: ReportVersion | None, released: ReportVersion | None) -> str | None:
    """The status of the report: of what is released, else of the newest version that is no draft, else of the order."""
    if released is not None:
        return KINDS[ReportKind(released.kind)]
    withdrawn = VERSIONS[newest.state] if newest is not None else None
    return withdrawn or ORDERS[order.state].report
