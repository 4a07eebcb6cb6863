"""What a field of a body may hold: one line of printable text, a day, a moment with its offset."""

import re
from datetime import date
from typing import Annotated, Any, Literal

from ninja import Schema
from ninja.params.functions import Query
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, ConfigDict, StringConstraints

from interop.moments import keepable

PLAIN = r"^[^\x00-\x1f\x7f]*$"  # one line: no control character, and no NUL, which PostgreSQL cannot hold
_DAY, _MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}"), re.compile(r"\d{4}-\d{2}-\d{2}[Tt ].*")
PriorityName = Literal["stat", "asap", "urgent", "routine"]
SexName = Literal["female", "male", "other", "unknown"]


def _written(form: re.Pattern[str]) -> BeforeValidator:
    """Numbers are no dates: pydantic would count them from 1970."""

    def check(value: Any) -> Any:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise ValueError("has to be written as ISO 8601 does")
        return value

    return BeforeValidator(check)


Day = Annotated[date, _written(_DAY)]
Moment = Annotated[AwareDatetime, _written(_MOMENT), AfterValidator(keepable)]
Line80 = Annotated[str, StringConstraints(max_length=80, pattern=PLAIN)]
Line120 = Annotated[str, StringConstraints(max_length=120, pattern=PLAIN)]
Line300 = Annotated[str, StringConstraints(max_length=300, pattern=PLAIN)]
Line500 = Annotated[str, StringConstraints(max_length=500, pattern=PLAIN)]
CURSOR = r"^[A-Za-z0-9_-]{1,200}$"
AFTER: Any = Query(None, pattern=CURSOR, description="`next` of the page before")
KEY = r"^[\x21-\x7e]{1,128}$"


class Given(Schema):
    """A body that is sent to us: what is not named here is refused, since a misspelt field would be a lost one."""

    model_config = ConfigDict(extra="forbid")
