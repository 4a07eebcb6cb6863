"""The organisation a person works in: its zone is the one his pages show."""

from accounts.models import Organisation, User


def home(user: User) -> Organisation | None:
    """The laboratory (else the first organisation) this person belongs to; None for somebody without a membership."""
    mine = Organisation.objects.filter(memberships__user=user, memberships__ended_at=None)
    return mine.order_by("-is_laboratory", "name").first()
