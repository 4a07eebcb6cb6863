"""`edit_site`: the sites of an organisation from the command line, under somebody's name."""

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Site
from accounts.roles import Role
from tests.factories import by, make_laboratory

pytestmark = pytest.mark.django_db
NORTH = ("north", "--name", "North", "--address", "1 Hill, 12345 Town", "--time-zone", "Europe/Berlin")


def test_a_site_is_added_changed_and_closed(capsys: pytest.CaptureFixture[str]) -> None:
    laboratory = make_laboratory()
    ada = by(Role.ADMINISTRATOR, laboratory)
    call_command("edit_site", laboratory.code, *NORTH, *ada)
    call_command("edit_site", laboratory.code, "north", "--phone", "+49 30 1", "--close", *ada)
    site = Site.objects.get(code="north")
    assert (site.name, site.address, site.phone, site.active) == ("North", "1 Hill\n12345 Town", "+49 30 1", False)
    assert "north: North, 1 Hill, 12345 Town, Europe/Berlin, closed" in capsys.readouterr().out


def test_what_cannot_be_is_refused_in_words() -> None:
    laboratory = make_laboratory()
    ada = by(Role.ADMINISTRATOR, laboratory)
    for words, said in (
        (("nowhere", *NORTH, *ada), "there is no organisation nowhere"),
        ((laboratory.code, *NORTH), "there is no account"),
        ((laboratory.code, *NORTH, *by(Role.DIRECTOR, laboratory)), "does not allow this"),
        ((laboratory.code, "north", *ada), "The name is missing. The address is missing."),
        ((laboratory.code, "main", "--close", *ada), "This is the only open site"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("edit_site", *words)
