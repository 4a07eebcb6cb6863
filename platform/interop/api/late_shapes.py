"""The nouns of an order that was taken on paper in a downtime."""

from datetime import datetime
from typing import Literal

from ninja import Schema
from pydantic import Field

from interop.api.texts import Given, Line80, Line120, Line300, Moment


class LateGiven(Given):
    """Of an order that was taken on paper in a downtime: what was true then. Its due times count from `requested_at`."""

    downtime: Line80 = Field(description="its code within the laboratory, such as D3")
    requested_at: Moment
    taken_by: Line120 = Field(description="address or name of a colleague, or any name")
    reason: Literal["unreachable", "interface", "login", "found", "other"]
    words: Line300 = Field("", description="needed for the reason `other`")
    received_at: Moment | None = Field(None, description="of the specimen, if it had come")
    condition: Line80 = Field("acceptable", description="of a specimen that had come")


class LateShape(Schema):
    """What was true of an order that was entered late; its own times say when it was entered."""

    downtime: str
    requested_at: datetime
    received_at: datetime | None
    taken_by: str
    reason: str
    words: str
    entered_by: str
    entered_at: datetime
