"""Service accounts: programs that place and follow orders. A person answers for each, and none logs in on a page."""

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts.models import Membership, Organisation, User
from accounts.roles import Role
from audit import services as audit
from foundation import clock
from foundation.actor import Actor
from foundation.errors import Refused


def make(*, actor: Actor, email: str, name: str, organisation: Organisation, responsible: User) -> User:
    """Make a service account of an organisation; its address is a name and gets no mail. Raises `Refused` in words."""
    email, name = email.strip().lower(), " ".join(name.split())
    try:
        validate_email(email)
    except ValidationError as error:
        raise Refused(" ".join(error.messages), code="account.invalid") from error
    if not name or len(name) > 200:
        raise Refused("Name the program in at most 200 characters.", code="account.invalid")
    if User.objects.filter(email__iexact=email).exists():
        raise Refused(f"There is an account {email} already.", code="account.known")
    if responsible.responsible_id is not None or not responsible.is_active:
        raise Refused("A person with an open account has to answer for it.", code="account.responsible")
    with transaction.atomic():
        account = User(email=email, name=name, responsible=responsible)
        account.set_unusable_password()
        account.save()
        membership = Membership.objects.create(user=account, organisation=organisation, role=Role.SERVICE, granted_at=clock.now())
        said = {"account": str(account.pk), "responsible": str(responsible.pk)}
        audit.record(actor=actor, action="membership.granted", obj=membership, organisation_id=organisation.pk, facts=said)
    return account
