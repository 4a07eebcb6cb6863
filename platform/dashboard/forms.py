"""The order form as a person fills it in. What is true of an order is decided by `orders.validation`; here it is read."""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms

from accounts.models import Organisation
from dashboard import late_form
from dashboard.asking import Asking, named
from dashboard.wording import PRIORITY_HINT, zone_name
from foundation import clock
from orders.models import Downtime, Intake, Sex
from orders.parties import WHO
from orders.requests import OrderRequest, PatientDetails, SpecimenDetails
from orders.validation import OLDEST
from registry.models import TestVersion
from registry.priority import Priority

SPECIMEN_TYPES = ("Isolate", "Blood", "Blood culture", "Cerebrospinal fluid", "Urine", "Swab", "Tissue", "Saliva", "Extracted DNA")


class OrderForm(forms.Form):
    """Patient, specimen, priority, indication. The input is linked through its intake."""

    test = forms.ChoiceField(label="Test")
    organisation = forms.ChoiceField(label="Ordered by")
    provider = forms.CharField(
        label="Ordering provider", max_length=400, required=False, widget=forms.TextInput(attrs={"list": "providers"})
    )
    site = forms.ChoiceField(label="Site", required=False)
    performing_site = forms.ChoiceField(label="Performed at", required=False)
    mrn = forms.CharField(label="Medical record number (MRN)", max_length=80)
    mrn_system = forms.ChoiceField(label="Number given by", required=False)
    family_name = forms.CharField(label="Family name", max_length=120)
    given_name = forms.CharField(label="Given name", max_length=120)
    birth_date = forms.DateField(label="Birth date", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"))
    sex = forms.ChoiceField(label="Sex", choices=[("", "choose"), *Sex.choices])
    specimen_identifier = forms.CharField(label="Specimen label", max_length=80)
    specimen_type = forms.CharField(label="Type", max_length=80, widget=forms.TextInput(attrs={"list": "specimen-types"}))
    specimen_source = forms.CharField(label="Source", max_length=120, required=False)
    collected_at = forms.DateTimeField(
        label="Collected at",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"],
    )
    collected_fold = forms.ChoiceField(label="Which of the two?", choices=late_form.WHICH, required=False)
    priority = forms.ChoiceField(label="Priority", choices=Priority.choices, widget=forms.RadioSelect, initial=Priority.ROUTINE)
    stat_reason = forms.CharField(label="Reason for STAT", max_length=300, required=False)
    indication = forms.CharField(label="Indication", max_length=300, required=False)
    sample_confirmed = forms.CharField(required=False, strip=False)  # a name in a file may begin or end with a blank
    repeats = forms.UUIDField(required=False)
    replaces_reason = forms.CharField(label="What is changed, and why", max_length=300, required=False)  # of a replacement

    def __init__(
        self,
        *args: Any,
        tests: Sequence[TestVersion],
        organisations: Sequence[Organisation],
        zone: ZoneInfo,
        asking: Asking | None = None,
        systems: Sequence[str] = (),
        downtimes: Sequence[Downtime] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.zone = zone
        self.asking = asking or Asking()
        self.folds = {name for name in late_form.FOLDS if self.initial.get(name)}  # of times that came twice
        self._choices("test", [(str(test.pk), test.definition.name) for test in tests])
        self._choices("organisation", [(str(organisation.pk), organisation.name) for organisation in organisations])
        self._parties()
        self.fields.update(late_form.fields(downtimes))
        own = organisations[0].name if len(organisations) == 1 else "the ordering organisation"
        cast(forms.ChoiceField, self.fields["mrn_system"]).choices = [("", own), *((one, one) for one in systems)]
        self._say_zone()
        self.fields["mrn"].help_text = "exactly as your hospital writes it"
        self.fields["stat_reason"].help_text = "STAT starts before everything else: say why this one cannot wait"
        for name in self.fields:
            self.fields[name].error_messages["required"] = "This is needed to place the order."
            self.fields[name].widget.attrs.setdefault("autocomplete", "off")

    def _parties(self) -> None:
        """Who asks and from where; asked only where there is something to say."""
        if self.asking.providers:
            self.initial.setdefault("provider", self.asking.likely)
            self.fields["provider"].help_text = "whom the laboratory calls with a critical result; type a part of the name"
        else:
            del self.fields["provider"]
        for name, offered in (("site", self.asking.choosable_sites), ("performing_site", self.asking.choosable_performing)):
            sites = [(str(site.pk), f"{site.organisation.name}: {site.name}") for site in offered]
            if sites:
                cast(forms.ChoiceField, self.fields[name]).choices = [("", "the main site"), *sites]
                self.initial.setdefault(name, self.asking.preselected(offered))
            else:
                del self.fields[name]

    def _say_zone(self) -> None:
        """By whose clock the collection time is read, beside it; the script says it anew when another site is chosen."""
        now, field = clock.now(), self.fields["collected_at"]
        words = {str(site.pk): f"{site.name}: {zone_name(now, site.zone)}" for site in self.asking.sites}
        field.help_text = f"by the clock of {self._said(words)}"
        mains = {str(site.organisation_id): words[str(site.pk)] for site in reversed(self.asking.sites)}
        field.widget.attrs["data-zones"] = json.dumps(words | mains)

    def _said(self, words: dict[str, str]) -> str:
        given = self.data if self.is_bound else self.initial
        site = self.asking.where(str(given.get("organisation", "")), str(given.get("site") or ""))
        return words[str(site.pk)] if site else "the ordering site"

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = cast(forms.ChoiceField, self.fields[name])
        field.choices = choices if len(choices) == 1 else [("", "choose"), *choices]
        if len(choices) == 1:
            self.initial.setdefault(name, choices[0][0])

    @property
    def priorities(self) -> list[tuple[str, str]]:
        """Each priority with what it means."""
        return [(value, PRIORITY_HINT[value]) for value in Priority.values]

    def clean_birth_date(self) -> date:
        """A date of birth lies in the past, and not beyond any patient's life."""
        born: date = self.cleaned_data["birth_date"]
        if born < OLDEST:
            raise forms.ValidationError(f"The birth date must lie between {OLDEST.year} and today.")
        if born > clock.now().astimezone(self.zone).date():
            raise forms.ValidationError("The birth date lies in the future.")
        return born

    def clean_collected_at(self) -> datetime:
        """Within what can be counted in any zone; whether it lies in the future is asked when the zone is settled."""
        collected: datetime = self.cleaned_data["collected_at"]
        if collected.date() < OLDEST:
            raise forms.ValidationError(f"The collection time must lie between {OLDEST.year} and now.")
        if collected.date() > clock.now().date() + timedelta(days=2):
            raise forms.ValidationError("The collection time lies in the future.")
        return collected

    def clean(self) -> dict[str, Any]:
        """Settle the collection time, and ask for what only together makes sense."""
        data = super().clean() or {}
        self._settle_provider(data)
        if data.get("collected_at") is not None:
            self._settle_time(data, "collected_at", "collected_fold")
        if late_form.wanted(data):
            self._settle_late(data)
        if data.get("priority") == Priority.STAT and not data.get("stat_reason", "").strip():
            self.add_error("stat_reason", "Say why this order is STAT.")
        return data

    def _settle_provider(self, data: dict[str, Any]) -> None:
        """The provider behind what was typed; one has to be named where the ordering organisation has any."""
        if "provider" not in self.fields:
            return
        typed, offered = data.get("provider", ""), self.asking.of(data.get("organisation", ""))
        data["provider_id"], objection = named(typed, offered)
        if not typed and offered:
            objection = WHO
        if objection:
            self.add_error("provider", objection)

    def _settle_late(self, data: dict[str, Any]) -> None:
        """What a late entry cannot do without; what is true of it is asked when it is placed."""
        for name in late_form.NEEDED:
            if not data.get(name) and name not in self.errors:
                self.add_error(name, "Missing: a late entry needs it.")
        for name, fold in (("requested_at", "requested_fold"), ("received_at", "received_fold")):
            if data.get(name) is not None:
                self._settle_time(data, name, fold)

    def _settle_time(self, data: dict[str, Any], name: str, fold: str) -> None:
        """The moment that digits mean by the clock of the ordering site; one that came twice is asked back."""
        site = self.asking.where(data.get("organisation", ""), data.get("site", ""))
        zone = site.zone if site else self.zone
        naive: datetime = data[name].replace(tzinfo=None)  # Django read the digits; the zone is the site's
        first, second = naive.replace(tzinfo=zone, fold=0), naive.replace(tzinfo=zone, fold=1)
        if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != naive:
            self.add_error(name, f"The clocks skipped this time in {zone.key}: it did not exist.")
            return
        twice = first.utcoffset() != second.utcoffset()
        self.folds = self.folds | {fold} if twice else self.folds - {fold}
        if twice and not data.get(fold):
            self.add_error(fold, f"The clocks were put back: this time came twice in {zone.key}. Say which one.")
            return
        data[name] = second if twice and data[fold] == "1" else first

    def request(self, intake: Intake) -> OrderRequest:
        """What is asked for, from a valid form and its intake."""
        data = self.cleaned_data
        return OrderRequest(
            intake_id=intake.pk,
            ordering_organisation_id=UUID(data["organisation"]),
            patient=PatientDetails(
                mrn=data["mrn"],
                family_name=data["family_name"],
                given_name=data["given_name"],
                birth_date=data["birth_date"],
                sex=data["sex"],
                mrn_system=data["mrn_system"],
            ),
            specimen=SpecimenDetails(
                identifier=data["specimen_identifier"],
                type=data["specimen_type"],
                source=data["specimen_source"],
                collected_at=data["collected_at"],
            ),
            priority=data["priority"],
            stat_reason=data["stat_reason"] if data["priority"] == Priority.STAT else "",
            indication=data["indication"],
            sample_confirmed=data["sample_confirmed"],
            repeats=data["repeats"],
            provider_id=data.get("provider_id"),
            site_id=UUID(data["site"]) if data.get("site") else None,
            performing_site_id=UUID(data["performing_site"]) if data.get("performing_site") else None,
            placer_number=data.get("paper_number", "") if late_form.wanted(data) else "",
            late=late_form.details(data),
        )
