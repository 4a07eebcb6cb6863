"""What somebody wants to know, read and looked up: words become the ids that they stand for, within his laboratory alone."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from uuid import UUID

from accounts.models import Membership, Organisation, User
from audit.models import Event
from engine_queue.models import Run
from foundation import clock
from foundation.printable import is_printable
from inspection import periods
from inspection.errors import InvalidAsked
from inspection.kinds import BY_CODE, Kind
from orders.models import Order, Patient, PatientIdentifier
from registry.models import ModelVersion

LONGEST_PERIOD = 366  # days
LONGEST_WORD = 200  # characters
FIRST_YEAR = 1990  # of a period
LABELS = {
    "order": "Order number", "patient": "Patient’s number, or a number of one of his orders", "person": "Name or e-mail address",
    "model": "Model version", "since": "From", "until": "To",
}  # fmt: skip
Said = dict[str, Any]
Objections = defaultdict[str, list[str]]


def read(laboratory: Organisation, code: str, typed: Mapping[str, str], today: date) -> tuple[Kind, Said, str]:
    """Kind, fields and the same in words. Raises `InvalidAsked` field by field. `today`: in the laboratory's zone."""
    kind = BY_CODE.get(code)
    if kind is None:
        raise InvalidAsked({"kind": ["Choose what the report shall be about."]})
    fields: Objections = defaultdict(list)
    said: Said = {}
    for name in kind.needs:
        text = typed.get(name, "").strip()
        if not text:
            fields[name].append(f"{LABELS[name]} is missing.")
        elif len(text) > LONGEST_WORD or not is_printable(text):
            fields[name].append(f"{LABELS[name]} is no line of at most {LONGEST_WORD} characters.")
        else:
            found = _READ[name](laboratory, text, fields)
            said |= {name: found} if found is not None else {}
    if "since" in said and "until" in said:
        _period(said, fields, today)
    if fields:
        raise InvalidAsked(fields)
    return kind, said, _words(said)


def _words(said: Said) -> str:
    named = [value["words"] for value in said.values() if isinstance(value, dict)]
    return ", ".join([*named, *([periods.words(said)] if "since" in said else [])])


def _period(said: Said, fields: Objections, today: date) -> None:
    first, last = date.fromisoformat(said["since"]), date.fromisoformat(said["until"])
    if first.year < FIRST_YEAR:
        fields["since"].append(f"A period begins in {FIRST_YEAR} or later: nothing that is kept here is older.")
    elif last < first:
        fields["until"].append("The period ends before it begins.")
    elif (last - first).days >= LONGEST_PERIOD:
        fields["until"].append(f"A report covers at most {LONGEST_PERIOD} days.")
    elif first > today:
        fields["since"].append("The period lies in the future.")


def _day(laboratory: Organisation, text: str, fields: Objections, *, name: str) -> str | None:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        fields[name].append("Write the day as YYYY-MM-DD.")
        return None


def _order(laboratory: Organisation, text: str, fields: Objections) -> Said | None:
    order = Order.objects.filter(performing_laboratory=laboratory, accession=text.upper()).first()
    if order is None:
        fields["order"].append("No order of this laboratory has this number. It stands on the report, such as A26-000001.")
        return None
    return {"id": str(order.pk), "words": order.accession}


def _patient(laboratory: Organisation, text: str, fields: Objections) -> Said | None:
    """By a number of his, retired ones too, or by the number of one of his orders."""
    here = Order.objects.filter(performing_laboratory=laboratory)
    named = PatientIdentifier.objects.filter(value=text).values("patient_id")
    ids = set(here.filter(accession=text.upper()).values_list("patient_id", flat=True))
    ids |= set(here.filter(patient_id__in=named).values_list("patient_id", flat=True))
    if len(ids) != 1:
        several = "Several patients have this number: type the number of an order of the one that is meant."
        fields["patient"].append(several if ids else "No patient of an order of this laboratory has this number.")
        return None
    patient = Patient.objects.get(pk=ids.pop())
    return {"id": str(patient.pk), "words": f"{patient}, {text}"}


def _person(laboratory: Organisation, text: str, fields: Objections) -> Said | None:
    """Somebody who works or worked here, or did something to what is kept here."""
    meant = User.objects.filter(email__iexact=text) or User.objects.filter(name__iexact=text)
    found = [user for user in meant[:20] if _known(laboratory, user)]
    if len(found) != 1:
        several = "Several people have this name: type the e-mail address of the one that is meant."
        fields["person"].append(several if found else "Nobody of this name or address has worked or done anything here.")
        return None
    return {"id": str(found[0].pk), "words": f"{found[0].name} ({found[0].email})"}


def _known(laboratory: Organisation, user: User) -> bool:
    here = Membership.objects.filter(organisation=laboratory, user=user).exists()
    return here or Event.objects.filter(organisation_id=laboratory.pk, actor_id=user.pk).exists()


def models_of(laboratory: Organisation) -> list[ModelVersion]:
    """The model versions that have computed for this laboratory, the newest first."""
    used = Run.objects.filter(organisation_id=laboratory.pk).order_by().values_list("model_version_id", flat=True).distinct()
    return list(ModelVersion.objects.filter(pk__in=used).order_by("-created_at"))


def _model(laboratory: Organisation, text: str, fields: Objections) -> Said | None:
    found = next((one for one in models_of(laboratory) if str(one).lower() == text.lower()), None)
    if found is None:
        fields["model"].append("No model of this name and version has computed anything here.")
        return None
    return {"id": str(found.pk), "words": str(found)}


_READ: dict[str, Callable[[Organisation, str, Objections], Any]] = {
    "order": _order,
    "patient": _patient,
    "person": _person,
    "model": _model,
    "since": lambda laboratory, text, fields: _day(laboratory, text, fields, name="since"),
    "until": lambda laboratory, text, fields: _day(laboratory, text, fields, name="until"),
}


def today_in(zone: Any) -> date:
    """The day that it is there now."""
    return clock.now().astimezone(zone).date()


def id_of(said: Said, name: str) -> UUID:
    """The id that a field stands for."""
    return UUID(said[name]["id"])
