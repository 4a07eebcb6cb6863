"""The names of patients as initials, on the worklist of somebody whose screen others can see: his own setting, and kept."""

from accounts.models import User
from dashboard.models import ShortNames


def shown(user: User) -> bool:
    """Whether this person's worklist shows initials."""
    return ShortNames.objects.filter(user=user).exists()


def show(user: User, *, short: bool) -> None:
    """Show initials from now on, or whole names again."""
    if short:
        ShortNames.objects.get_or_create(user=user)
    else:
        ShortNames.objects.filter(user=user).delete()


def short(name: str) -> str:
    """The initial of a name: "M."; nothing of none."""
    return f"{name.strip()[:1].upper()}." if name.strip() else ""
