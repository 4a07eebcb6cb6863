"""The switch “Late entry” of the order form, and the fields behind it: what was true when the order was taken on paper."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from dashboard.specimens import FOLDS as TWO_MOMENTS
from orders.downtimes.rows import LateReason
from orders.models import Downtime
from orders.requests import LateDetails
from orders.specimen_models import Condition

WHICH = (("", "choose"), *TWO_MOMENTS)
FOLDS = ("collected_fold", "requested_fold", "received_fold")
NEEDED = ("downtime", "requested_at", "taken_by", "late_reason")


def fields(downtimes: Sequence[Downtime]) -> dict[str, forms.Field]:
    """The fields, for who has a downtime to enter orders for; none for others."""
    if not downtimes:
        return {}
    said = [(str(one.pk), f"{one.code} of {one.organisation}: {one.get_what_display()}") for one in downtimes]
    return {
        "late": forms.BooleanField(label="Late entry: this order was taken on paper in a downtime", required=False),
        "downtime": forms.ChoiceField(
            label="Downtime", required=False, choices=said if len(said) == 1 else [("", "choose"), *said], initial=said[0][0]
        ),
        "requested_at": _moment("Requested at", "when it was taken on paper; its due times count from here"),
        "requested_fold": _fold("Requested: which of the two?"),
        "taken_by": forms.CharField(
            label="Taken on paper by", max_length=120, required=False, help_text="address or name of a colleague, or any name"
        ),
        "late_reason": forms.ChoiceField(label="Why on paper", required=False, choices=[("", "choose"), *LateReason.choices]),
        "late_words": forms.CharField(label="In words", max_length=300, required=False, help_text="needed for another reason"),
        "paper_number": forms.CharField(
            label="Number of the paper order", max_length=80, required=False, help_text="a second order with it is found",
        ),
        "received_at": _moment("Specimen received at", "leave it empty if it has not come"),
        "received_fold": _fold("Received: which of the two?"),
        "condition": forms.ChoiceField(
            label="Condition", required=False, initial=Condition.ACCEPTABLE,
            choices=[choice for choice in Condition.choices if choice[0] != Condition.OTHER],
        ),
    }  # fmt: skip


def wanted(data: Mapping[str, Any]) -> bool:
    """Whether the switch is on."""
    return bool(data.get("late"))


def details(data: Mapping[str, Any]) -> LateDetails | None:
    """What a valid form says of it; None where the switch is off."""
    if not wanted(data):
        return None
    return LateDetails(
        downtime=data["downtime"],
        requested_at=data["requested_at"],
        taken_by=data["taken_by"],
        reason=data["late_reason"],
        words=data["late_words"],
        received_at=data["received_at"],
        condition=data["condition"] or Condition.ACCEPTABLE.value,
    )


def _moment(label: str, hint: str) -> forms.DateTimeField:
    return forms.DateTimeField(
        label=label, required=False, help_text=hint, input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )  # fmt: skip


def _fold(label: str) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=WHICH, required=False)
