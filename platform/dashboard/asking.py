"""Who asks, on the order form: providers offered as one types, the one that is likely meant, and the one that was typed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from accounts.models import Provider, Site
from accounts.providers import providers_for
from accounts.sites import open_sites, sites_for
from foundation.actor import Actor
from orders import selectors
from registry.models import TestVersion

CANDIDATES = 5  # named in an objection


@dataclass(frozen=True)
class Asking:
    """The providers and sites that a person can name, and which provider he most likely means."""

    providers: Sequence[Provider] = ()
    sites: Sequence[Site] = ()
    likely: str = ""  # label
    performing: Sequence[Site] = ()  # of the laboratories whose tests he can order
    last: frozenset[UUID] = frozenset()  # sites he named last: those he works at, as far as can be known

    @property
    def labels(self) -> list[str]:
        """What the field offers as one types."""
        return sorted({one.label for one in self.providers}, key=str.casefold)

    def of(self, organisation_id: str) -> list[Provider]:
        """The providers of one ordering organisation."""
        return [one for one in self.providers if str(one.organisation_id) == organisation_id]

    @property
    def choosable_sites(self) -> list[Site]:
        """Sites of the organisations that have several: only there is something to choose."""
        return _of_several(self.sites)

    @property
    def choosable_performing(self) -> list[Site]:
        """The same of the laboratories."""
        return _of_several(self.performing)

    def where(self, organisation_id: str, site_id: str) -> Site | None:
        """From where is ordered: the named site, else the main one of the organisation."""
        own = [one for one in self.sites if str(one.organisation_id) == organisation_id]
        return next((one for one in own if str(one.pk) == site_id), next(iter(own), None))

    def preselected(self, sites: Sequence[Site]) -> str:
        """Of sites to choose from, all of one organisation, the one this person named last."""
        several = len({one.organisation_id for one in sites}) > 1
        return "" if several else next((str(one.pk) for one in sites if one.pk in self.last), "")


def _of_several(sites: Sequence[Site]) -> list[Site]:
    number = Counter(one.organisation_id for one in sites)
    return [one for one in sites if number[one.organisation_id] > 1]


def asking(actor: Actor, tests: Iterable[TestVersion] = ()) -> Asking:
    """Of a person at the order form: he himself where he is a provider, else whom he named last."""
    providers = providers_for(actor)
    himself = next((one for one in providers if one.user_id is not None and one.user_id == actor.id), None)
    last = selectors.last_provider(actor) if himself is None and providers else None
    likely = himself or next((one for one in providers if one.pk == last), None)
    performing, sites = open_sites(one.definition.laboratory_id for one in tests), sites_for(actor)
    remembered = frozenset(selectors.last_sites(actor) or ()) if _of_several([*performing, *sites]) else frozenset()
    return Asking(providers, sites, likely.label if likely else "", performing, remembered)


def named(typed: str, providers: Iterable[Provider]) -> tuple[UUID | None, str]:
    """The provider that was typed, by his label, his name, or his number alone; or what has to be corrected."""
    wanted = " ".join(typed.split()).casefold()
    if not wanted:
        return None, ""
    providers = list(providers)
    exact = [one for one in providers if wanted in {text.casefold() for text in (one.label, one.name, one.identifier) if text}]
    if len(exact) == 1:
        return exact[0].pk, ""
    close = exact or [one for one in providers if wanted in one.label.casefold()]
    if not close:
        return None, "Nobody of this name is a provider of the ordering organisation. Begin to type and choose from the list."
    listed = "; ".join(one.label for one in close[:CANDIDATES])
    return None, f"Choose the whole line of one: {listed}{' …' if len(close) > CANDIDATES else '.'}"
