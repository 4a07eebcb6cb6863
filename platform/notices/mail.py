"""One e-mail: the number of the order and a link. Whatever else is to be known stands behind the login.

Who has no account is told no number either: that there is something, and where.
"""

import smtplib

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from accounts.services import actor_for
from notices import links
from notices.errors import DeliveryFailed, Undeliverable
from notices.models import Delivery, Notice
from notices.wording import words

SECONDS = 10


def configured() -> bool:
    """Whether e-mail can leave this installation at all."""
    return bool(settings.EMAIL_HOST) or not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend")


def send(delivery: Delivery) -> None:
    """Send a delivery to its person or address. Raises `DeliveryFailed` or `Undeliverable` in words."""
    known = delivery.user is not None
    if known and not _belongs(delivery):
        raise Undeliverable("The person does not belong to either side of the order any more.")
    if not configured():
        raise DeliveryFailed("No mail server is configured here (EMAIL_HOST).")
    message = EmailMessage(
        subject=subject(delivery.notice, known=known),
        body=body(delivery.notice, known=known),
        to=[delivery.user.email if delivery.user else delivery.address],
        headers={"Message-ID": f"<{delivery.pk}@helicase>", "Auto-Submitted": "auto-generated"},
    )
    try:
        message.connection = get_connection(timeout=SECONDS)
        message.send()
    except smtplib.SMTPRecipientsRefused as error:
        raise DeliveryFailed("The mail server refused the recipient's address.") from error
    except smtplib.SMTPException as error:
        raise DeliveryFailed(f"The mail server refused the message ({type(error).__name__}).") from error
    except OSError as error:
        raise DeliveryFailed(f"The mail server could not be reached ({type(error).__name__}).") from error


def subject(notice: Notice, *, known: bool = True) -> str:
    """Nothing that a lock screen should not show."""
    return f"Order {notice.accession}" if notice.accession and known else "Helicase"


def body(notice: Notice, *, known: bool = True) -> str:
    """One sentence of codes and a link."""
    about = f"Order {notice.accession}: " if notice.accession and known else ""
    return f"{about}{words(notice.kind, notice.facts)}.\n\n{links.of(notice)}\n"


def _belongs(delivery: Delivery) -> bool:
    user = delivery.user
    if user is None:
        return False
    held = {organisation for organisations in actor_for(user).grants.values() for organisation in organisations}
    return not held.isdisjoint(delivery.notice.parties)
