"""A laboratory that was down, and an accessioner who enters what was taken on paper meanwhile."""

from datetime import datetime, timedelta
from typing import Any

from accounts.models import Organisation, User
from accounts.roles import Role
from accounts.services import actor_for
from foundation import clock
from foundation.actor import Actor
from orders import services
from orders.downtimes import records
from orders.models import Downtime, Order
from orders.requests import LateDetails, OrderRequest, SpecimenDetails
from tests import factories


class Down:
    """Down from four hours ago until one hour ago."""

    def __init__(self, **values: Any) -> None:
        self.test = factories.make_test_version()
        self.laboratory: Organisation = self.test.definition.laboratory
        self.director: Actor = factories.make_actor(role=Role.DIRECTOR, organisation=self.laboratory)
        self.person: User = factories.make_user(role=Role.ACCESSIONER, organisation=self.laboratory, name="Pat Paper")
        self.accessioner = actor_for(self.person)
        self.now = clock.now()
        self.began_at = self.at(hours=4)
        self.ended_at: datetime | None = self.at(hours=1)
        self.values = values

    def at(self, **ago: float) -> datetime:
        return self.now - timedelta(**ago)

    def open(self, **values: Any) -> Downtime:
        given = {"what": "everything", "words": "the database was moved", "began_at": self.began_at, "ended_at": self.ended_at}
        return records.open_downtime(actor=self.director, laboratory_id=self.laboratory.pk, **(given | self.values | values))

    def late(self, **values: Any) -> LateDetails:
        given: dict[str, Any] = {"requested_at": self.at(hours=3), "taken_by": "pat paper", "reason": "unreachable"}
        return LateDetails(**(given | values))

    def request(self, downtime: Downtime, late: dict[str, Any] | None = None, **changes: Any) -> OrderRequest:
        collected = self.at(hours=3.5)
        specimen = SpecimenDetails(identifier=f"P-{downtime.pk.hex[:5]}", type="isolate", source="", collected_at=collected)
        intake = factories.make_ready_intake(test_version=self.test, variants=2)
        said = self.late(**{"downtime": downtime.code, **(late or {})})
        return factories.make_request(intake, **{"specimen": specimen, "late": said, **changes})

    def enter(self, downtime: Downtime, late: dict[str, Any] | None = None, **changes: Any) -> Order:
        return services.place(actor=self.accessioner, request=self.request(downtime, late, **changes))
