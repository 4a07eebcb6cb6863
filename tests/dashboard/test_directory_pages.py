"""The pages on which an organisation keeps its providers and its sites."""

import pytest
from django.urls import reverse

from accounts.models import Membership, Provider, Site, User
from accounts.roles import Role
from accounts.sites import main_site
from foundation import clock
from tests.dashboard.people import logged_in, read, shown
from tests.factories import make_laboratory, make_organisation, make_provider

pytestmark = pytest.mark.django_db
RITA = {"name": "Dr Rita", "phone": "+00 1", "do": "save"}
NORTH = {"name": "North", "code": "north", "time_zone": "Europe/Berlin", "address": "1 Hill\nTown", "do": "save"}


def test_a_provider_is_added_and_changed_and_taken_from_the_form() -> None:
    hospital = make_organisation()
    client = logged_in(Role.ADMINISTRATOR, hospital)
    assert client.post(reverse("providers"), RITA).status_code == 302
    made = Provider.objects.get(organisation=hospital)
    address = reverse("provider", args=[made.pk])
    client.post(address, {**RITA, "phone": "+00 2", "version": "1"})
    client.post(address, {"do": "close", "version": "2"})
    made.refresh_from_db()
    assert (made.phone, made.active) == ("+00 2", False) and "closed" in read(client, "providers")


def test_a_site_is_added_and_changed_and_the_last_one_stays_open() -> None:
    laboratory = make_laboratory()
    client = logged_in(Role.ADMINISTRATOR, laboratory)
    main = main_site(laboratory.pk)
    refused = client.post(reverse("site", args=[main.pk]), {"do": "close", "version": "1"})
    assert refused.status_code == 409 and shown("This is the only open site", refused.content.decode())
    client.post(reverse("sites"), NORTH)
    client.post(reverse("site", args=[main.pk]), {"do": "close", "version": "1"})
    assert main_site(laboratory.pk) == Site.objects.get(code="north")


@pytest.mark.parametrize(("name", "data", "field"), [("providers", RITA, "phone"), ("sites", NORTH, "address")])
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(name: str, data: dict[str, str], field: str) -> None:
    answer = logged_in(Role.ADMINISTRATOR, make_laboratory()).post(reverse(name), {**data, field: ""})
    page = answer.content.decode()
    assert answer.status_code == 409 and f'href="#id_{field}"' in page and shown(data["name"], page)


def test_a_stale_page_is_told_so_and_overwrites_nothing() -> None:
    hospital = make_organisation()
    made = make_provider(hospital, version=3)
    answer = logged_in(Role.ACCESSIONER, hospital).post(reverse("provider", args=[made.pk]), {**RITA, "version": "2"})
    made.refresh_from_db()
    assert answer.status_code == 409 and shown("Somebody has changed this", answer.content.decode()) and made.name != "Dr Rita"


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.SERVICE])  # a program has no pages
def test_who_keeps_which_list(role: Role) -> None:
    laboratory = make_laboratory()
    client = logged_in(role, laboratory)
    providers = 200 if role in (Role.ACCESSIONER, Role.ADMINISTRATOR) else 403
    sites = 200 if role is Role.ADMINISTRATOR else 403
    assert client.get(reverse("providers")).status_code == providers
    assert client.get(reverse("sites")).status_code == sites
    row = reverse("provider", args=[make_provider(laboratory).pk]), reverse("site", args=[main_site(laboratory.pk).pk])
    assert [client.get(one).status_code for one in row] == [200 if providers == 200 else 404, 200 if sites == 200 else 404]


def test_to_a_stranger_providers_and_sites_do_not_exist() -> None:
    stranger, laboratory = logged_in(Role.ADMINISTRATOR, make_laboratory()), make_laboratory()
    made = make_provider(laboratory)
    for address in (reverse("provider", args=[made.pk]), reverse("site", args=[main_site(laboratory.pk).pk])):
        assert stranger.get(address).status_code == stranger.post(address, RITA).status_code == 404
    assert not shown(made.name, read(stranger, "providers"))


def test_who_keeps_the_lists_of_several_organisations_says_of_which_a_new_row_is() -> None:
    first, second = make_organisation(), make_organisation()
    client = logged_in(Role.ADMINISTRATOR, first)
    user = User.objects.get(pk=client.session["_auth_user_id"])
    Membership.objects.create(user=user, organisation=second, role=Role.ADMINISTRATOR, granted_at=clock.now())
    assert client.post(reverse("providers"), RITA).status_code == 409
    client.post(reverse("providers"), {**RITA, "organisation": str(second.pk)})
    assert Provider.objects.get().organisation == second
    assert client.post(reverse("providers"), {**RITA, "organisation": str(make_organisation().pk)}).status_code == 404
