"""A system that is no demonstration gets its first people from the command line."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation, User
from accounts.roles import Verb
from accounts.services import actor_for
from audit.models import Event

pytestmark = pytest.mark.django_db

PERSON = {"email": "Ana@Example.org", "name": "Ana", "role": "analyst", "organisation": "central-lab"}


def _create(**options: object) -> str:
    out = StringIO()
    call_command("create_person", **PERSON, **options, stdout=out)
    return out.getvalue()


def test_the_first_person_makes_the_laboratory_and_gets_a_password_once() -> None:
    said = _create(organisation_name="Central Laboratory", laboratory=True, time_zone="Europe/Berlin")
    user, laboratory = User.objects.get(), Organisation.objects.get()
    assert user.check_password(said.rsplit(" ", 1)[1].strip())
    assert (laboratory.is_laboratory, actor_for(user).may(Verb.PLACE, laboratory.pk)) == (True, True)
    assert Event.objects.get(action="membership.granted").organisation_id == laboratory.pk
    assert "stays as it was" in _create()


@pytest.mark.parametrize(
    ("options", "words"),
    [({}, "is new: give --organisation-name"), ({"organisation_name": "x", "time_zone": "Mars"}, "is not a time zone")],
)
def test_what_is_missing_or_wrong_is_said_and_nothing_is_made(options: dict[str, object], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        _create(**options)
    assert not (User.objects.exists() or Organisation.objects.exists())
