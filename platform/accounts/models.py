"""People and organisations. Users are deactivated, never deleted: their names stand on reports."""

import uuid
import zoneinfo
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounts.break_glass_models import BreakGlass
from accounts.roles import Role
from foundation.scoping import ScopedManager

__all__ = ["BreakGlass"]  # a noun with a file of its own


def validate_zone(value: str) -> None:
    """An IANA time zone this machine knows."""
    if value not in zoneinfo.available_timezones():
        raise ValidationError(f"{value} is not a time zone")


class Organisation(models.Model):
    """A hospital, clinic or laboratory."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    code = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=200)
    address = models.TextField(blank=True)
    phone = models.CharField(max_length=40, blank=True)
    clia_number = models.CharField(max_length=20, blank=True)
    time_zone = models.CharField(max_length=60, default="UTC", validators=[validate_zone])
    is_laboratory = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.name

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        """The zone its times are shown in."""
        return zoneinfo.ZoneInfo(self.time_zone)


class Site(models.Model):
    """A place of an organisation, with its own address and zone. The database gives every new organisation its first one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="sites")
    code = models.SlugField(max_length=40)
    name = models.CharField(max_length=200)
    address = models.TextField(blank=True)
    phone = models.CharField(max_length=60, blank=True)
    time_zone = models.CharField(max_length=60, default="UTC", validators=[validate_zone])
    active = models.BooleanField(default=True)  # orders can name it
    version = models.PositiveIntegerField(default=1)  # of what people change: a stale page cannot overwrite it
    created_at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "code"], name="one_site_per_code")]

    def __str__(self) -> str:
        return self.name

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        """The zone in which its times are read and printed."""
        return zoneinfo.ZoneInfo(self.time_zone)


class UserManager(BaseUserManager["User"]):
    """Finds people by their e-mail address, in any case."""

    def get_by_natural_key(self, username: str | None) -> "User":
        """The user with this e-mail address."""
        return self.get(email__iexact=username or "")

    def create_user(self, *, email: str, name: str, password: str | None) -> "User":
        """Make a person who can log in (without a password: only by another method)."""
        user = self.model(email=email.strip().lower(), name=name)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """A person (or, with the service role, a program with a named owner)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=200)  # as printed on reports
    is_active = models.BooleanField(default=True)
    responsible = models.ForeignKey(  # of a service account: the person who answers for it; it never logs in
        "self", on_delete=models.PROTECT, null=True, related_name="service_accounts"
    )

    objects = UserManager()
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]
    CHANGEABLE: ClassVar[tuple[str, ...]] = ("password", "last_login", "is_active", "responsible")  # the database allows no more

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        """Of somebody who is known, write what may change alone: Django's own password forms and commands write whole rows."""
        if not self._state.adding and options.get("update_fields") is None:
            options["update_fields"] = self.CHANGEABLE
        super().save(*args, **options)


class Membership(models.Model):
    """One role of one person in one organisation. It ends; it is not deleted."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices)
    granted_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "organisation", "role"], condition=models.Q(ended_at=None), name="one_open_membership"
            ),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_known"),
        ]


class ApiToken(models.Model):
    """What a program shows in place of a password. It can do no more than its owner can, and ends by itself."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="tokens")
    name = models.CharField(max_length=80)  # what it is for
    prefix = models.CharField(max_length=10, unique=True)  # the part that may be seen
    sha256 = models.CharField(max_length=64)  # of the whole token; the token itself is kept nowhere
    scopes = ArrayField(models.CharField(max_length=30))  # values of Verb
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, null=True)  # null: wherever its owner works
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)  # to the quarter of an hour
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")) & Q(expires_at__lte=F("created_at") + timedelta(days=366)),
                name="token_ends_within_a_year",
            ),
            models.CheckConstraint(condition=~Q(scopes=[]), name="token_has_a_scope"),
        ]
        indexes = [models.Index(fields=["owner", "-created_at"], name="tokens_of_owner")]

    def __str__(self) -> str:
        return f"{self.prefix}, {self.name}"

    def ended(self, now: datetime) -> str:
        """Why it opens nothing any more; blank: it does."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= now else ""


class StepUp(models.Model):
    """Somebody proved anew who he is, for one deed on one object with one content. The database lets it be used once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation_id = models.UUIDField()  # where the deed is done
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    object_type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=64)
    content_sha256 = models.CharField(max_length=64)  # of what was before him
    method = models.CharField(max_length=40)  # how he proved it
    at = models.DateTimeField(db_default=Now())  # by the clock of Postgres, whatever is given; so is used_at
    used_at = models.DateTimeField(null=True)

    objects = ScopedManager()
    scope_verb = "view_audit"


class Provider(models.Model):
    """Who may ask an organisation's orders, and whom the laboratory calls with a critical result. Closed, never deleted."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="providers")
    name = models.CharField(max_length=200)  # as printed on reports
    identifier_system = models.CharField(max_length=120, blank=True)  # such as NPI
    identifier = models.CharField(max_length=80, blank=True)
    department = models.CharField(max_length=120, blank=True)
    phone = models.CharField(max_length=60)  # for critical results
    alternative = models.CharField(max_length=120, blank=True)  # who or what is called when nobody answers there
    email = models.EmailField(blank=True)
    user = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="providers")  # who logs in as this person
    active = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()

    objects = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "identifier_system", "identifier"],
                condition=~models.Q(identifier=""),
                name="one_provider_per_identifier",
            ),
            models.UniqueConstraint(
                fields=["organisation", "user"], condition=models.Q(active=True, user__isnull=False), name="one_provider_per_user"
            ),
            models.CheckConstraint(condition=~models.Q(phone=""), name="provider_can_be_called"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        """Name and what tells him from a namesake, as the order form offers him."""
        number = f"{self.identifier_system} {self.identifier}".strip()
        return " · ".join(filter(None, (self.name, self.department, number)))

    @property
    def contact(self) -> str:
        """How a critical result reaches him, as an order keeps it."""
        return f"{self.phone}; otherwise {self.alternative}" if self.alternative else self.phone
