"""The order form filled in from an order that there is, as the form's own fields: nothing here is placed or changed."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from accounts.models import Site
from accounts.sites import main_site
from orders.models import Order, PatientIdentifier
from registry.models import TestVersion

# Fields of the form that belong together, to leave out with `without`.
PATIENT = frozenset({"mrn", "mrn_system", "family_name", "given_name", "birth_date", "sex"})
SPECIMEN = frozenset({"specimen_identifier", "specimen_type", "specimen_source", "collected_at", "collected_fold"})


def of_order(order: Order, *, tests: Sequence[TestVersion], without: Iterable[str] = frozenset()) -> dict[str, str]:
    """Field → what stands in it, for `OrderForm(initial=…)`; the test is the version on offer of the same test, if there is one."""
    test = offered(order, tests)
    values = {
        "test": str(test.pk) if test else "",
        "organisation": str(order.ordering_organisation_id),
        **_asking(order),
        **_patient(order),
        **_specimen(order),
        "priority": order.priority,
        "stat_reason": order.stat_reason,
        "indication": order.indication,
    }
    left_out = frozenset(without)
    return {name: value for name, value in values.items() if name not in left_out}


def offered(order: Order, tests: Sequence[TestVersion]) -> TestVersion | None:
    """The version to order today of the test of this order; None where it is not offered any more."""
    same = [test for test in tests if test.definition_id == order.test_version.definition_id]
    return max(same, key=lambda test: test.number, default=None)


def _asking(order: Order) -> dict[str, str]:
    """Who asked and from where, as long as both can be named on a new order."""
    provider = order.provider
    return {
        "provider": provider.label if provider is not None and provider.active else "",
        "site": _chosen(order.ordering_site),
        "performing_site": _chosen(order.performing_site),
    }


def _chosen(site: Site) -> str:
    """The site, where there is one to choose; empty: the main one."""
    return str(site.pk) if site.active and site.organisation.sites.filter(active=True).count() > 1 else ""


def _zone(order: Order) -> ZoneInfo:
    """Of the site that the form will name: there the digits of its collection are read."""
    site = order.ordering_site
    return site.zone if site.active else main_site(order.ordering_organisation_id).zone


def _patient(order: Order) -> dict[str, str]:
    """As the record says today; the number is the one that was stated, as long as it is the patient's."""
    patient, number = order.patient, _number(order)
    system = number.system if number else order.stated.get("mrn_system", "")
    return {
        "mrn": number.value if number else order.stated_mrn,
        "mrn_system": "" if system == str(order.ordering_organisation_id) else system,
        "family_name": patient.family_name,
        "given_name": patient.given_name,
        "birth_date": patient.birth_date.isoformat(),
        "sex": patient.sex,
    }


def _number(order: Order) -> PatientIdentifier | None:
    numbers: list[PatientIdentifier] = sorted(
        (one for one in order.patient.identifiers.all() if one.retired_at is None), key=lambda one: one.pk
    )
    return next((one for one in numbers if one.value == order.stated_mrn), next(iter(numbers), None))


def _specimen(order: Order) -> dict[str, str]:
    specimen = order.specimen
    collected = specimen.collected_at.astimezone(_zone(order))
    return {
        "specimen_identifier": specimen.identifier,
        "specimen_type": specimen.type,
        "specimen_source": specimen.source,
        "collected_at": local(collected),
        "collected_fold": str(collected.fold) if _twice(collected) else "",
    }


def local(moment: datetime) -> str:
    """The digits of a time as `datetime-local` takes them, seconds only where there are any."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}".removesuffix(":00")


def _twice(moment: datetime) -> bool:
    """Whether the clocks showed these digits twice."""
    return moment.replace(fold=0).utcoffset() != moment.replace(fold=1).utcoffset()
