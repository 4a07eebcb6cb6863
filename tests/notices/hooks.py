"""Webhooks of a house, and notices that are told there."""

from uuid import uuid4

from notices import endpoints, services
from notices.models import Delivery, Endpoint


def told(house, **audience) -> Delivery:
    laboratory, _ = house
    said = services.Told(
        key=str(uuid4()), kind="order.escalated", organisation_id=laboratory.pk, parties=[laboratory.pk], order_id=uuid4(),
        accession="A26-000017", facts={"clock": "result", "level": 80, "due": "2026-03-01T12:00:00+00:00", "by": "Dr Dana"},
    )  # fmt: skip
    return services.tell(said, services.Audience(**audience)).deliveries.get()


def hooked(house, url: str) -> tuple[Endpoint, str]:
    laboratory, administrator = house
    return endpoints.add(organisation=laboratory, name=f"hook {uuid4()}", url=url, actor=administrator)
