"""What a person keeps for himself of the pages: filters of the worklist, the one it opens with, and how it shows names."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models import Organisation, User


class SavedFilter(models.Model):
    """A filter of the worklist under a name: one person's, or shared with everybody of his organisation."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000)  # as the address has it, without the page
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), "owner", condition=Q(shared=False), name="one_personal_filter_per_name"),
            models.UniqueConstraint(Lower("name"), "organisation", condition=Q(shared=True), name="one_shared_filter_per_name"),
        ]

    def __str__(self) -> str:
        return self.name


class OpeningFilter(models.Model):
    """The saved filter a person's worklist opens with."""

    user = models.OneToOneField(User, on_delete=models.PROTECT, primary_key=True, related_name="+")
    filter = models.ForeignKey(SavedFilter, on_delete=models.CASCADE, related_name="openings")


class ShortNames(models.Model):
    """Somebody whose worklist shows the names of patients as initials: his screen stands where others see it."""

    user = models.OneToOneField(User, on_delete=models.PROTECT, primary_key=True, related_name="+")
