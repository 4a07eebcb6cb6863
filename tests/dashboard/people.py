"""Logged-in browsers for tests, and orders in the states that pages show."""

from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from accounts.models import Organisation
from accounts.roles import Role
from orders.models import Order
from tests.factories import make_order, make_organisation, make_ready_intake, make_test_version, make_user
from tests.reports.cases import scored_order


def logged_in(role: Role | str, organisation: Organisation) -> Client:
    client = Client()
    client.force_login(make_user(role=role, organisation=organisation))
    return client


def read(client: Client, name: str, *args: object, **query: object) -> str:
    return client.get(reverse(name, args=args), query).content.decode()


class Ward:
    """A hospital that orders and a laboratory that performs, with a test between them."""

    def __init__(self, *, time_zone: str = "UTC") -> None:
        self.test = make_test_version()
        self.laboratory = self.test.definition.laboratory
        self.hospital = make_organisation(time_zone=time_zone)

    def order(self, *, variants: int = 3, **changes: object) -> Order:
        return make_order(intake=self.intake(variants=variants), **changes)

    def intake(self, *, variants: int = 3):
        return make_ready_intake(test_version=self.test, organisation=self.hospital, variants=variants)

    def scored(self, *, variants: int = 4, **changes: object) -> Order:
        return scored_order(intake=self.intake(variants=variants), variants=variants, **changes)

    def requester(self) -> Client:
        return logged_in(Role.REQUESTER, self.hospital)

    def analyst(self) -> Client:
        return logged_in(Role.ANALYST, self.laboratory)


def shown(text: str, page: str) -> bool:
    """Whether a page shows a text, as text."""
    return escape(text) in page
