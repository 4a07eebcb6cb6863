"""One e-mail: the number of the order and a link. Whatever else is to be known stands behind the login."""

import smtplib

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from accounts.services import actor_for
from notices import links
from notices.errors import DeliveryFailed, Undeliverable
from notices.models import Delivery, Notice
from notices.wording import words

SECONDS = 10


def send(delivery: Delivery) -> None:
    """Send a delivery to its person. Raises `DeliveryFailed` or `Undeliverable` in words."""
    user = delivery.user
    if user is None or not _belongs(delivery):
        raise Undeliverable("The person does not belong to either side of the order any more.")
    if not settings.EMAIL_HOST and settings.EMAIL_BACKEND.endswith("smtp.EmailBackend"):
        raise DeliveryFailed("No mail server is configured here (EMAIL_HOST).")
    message = EmailMessage(
        subject=subject(delivery.notice),
        body=body(delivery.notice),
        to=[user.email],
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


def subject(notice: Notice) -> str:
    """Nothing that a lock screen should not show."""
    return f"Order {notice.accession}" if notice.accession else "Helicase"


def body(notice: Notice) -> str:
    """One sentence of codes and a link."""
    about = f"Order {notice.accession}: " if notice.accession else ""
    return f"{about}{words(notice.kind, notice.facts)}.\n\n{links.of(notice)}\n"


def _belongs(delivery: Delivery) -> bool:
    user = delivery.user
    if user is None:
        return False
    held = {organisation for organisations in actor_for(user).grants.values() for organisation in organisations}
    return not held.isdisjoint(delivery.notice.parties)
