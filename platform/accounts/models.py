"""People and organisations. Users are deactivated, never deleted: their names stand on reports."""

import uuid
import zoneinfo
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.exceptions import ValidationError
from django.db import models

from accounts.roles import Role


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

    objects = UserManager()
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]

    def __str__(self) -> str:
        return self.name


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
