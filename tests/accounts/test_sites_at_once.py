"""Two administrators at the same moment: committed transactions on a database of their own."""

from collections.abc import Iterator

import pytest

from accounts import sites
from accounts.models import Organisation, Site
from accounts.roles import Role
from tests.accounts.test_sites import NORTH, administrator
from tests.factories import make_actor, make_laboratory
from tests.orders.test_holding_at_once import at_once


@pytest.fixture
def laboratory(clone_db: str) -> Iterator[Organisation]:
    yield make_laboratory()


def test_two_people_at_once_cannot_close_the_last_two_sites(laboratory: Organisation) -> None:
    sites.add_site(organisation=laboratory, details=NORTH, actor=administrator(laboratory))
    ada = make_actor(role=Role.ADMINISTRATOR, organisation=laboratory)
    both = Site.objects.filter(organisation=laboratory)
    deeds = [lambda site=site: sites.set_site_active(site=site, active=False, actor=ada, expected_version=1) for site in both]
    assert sorted(at_once(deeds)) == ["", "LastSite"]
    assert both.filter(active=True).count() == 1
