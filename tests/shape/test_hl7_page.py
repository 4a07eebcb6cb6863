"""docs/hl7v2.md maps codes of table 0485 to priorities that there are, and none becomes routine by being unknown."""

import re

from registry.priority import Priority
from tests.services import ROOT

PAGE = (ROOT / "docs" / "hl7v2.md").read_text(encoding="utf-8")


def test_the_map_of_priorities_names_no_priority_that_there_is_not() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")][1:]
    mapped = {code: match[1] for code, _, to in rows if (match := re.match(r"`(\w+)`", to))}
    assert mapped == {"`S`": "stat", "`A`": "asap", "`R`": "routine", "none at all": "routine"}
    assert set(mapped.values()) <= set(Priority.values)
    assert {code: to.split()[0].strip(":,") for code, _, to in rows if code not in mapped} == {
        "`P`, `C`, `T`, `TS`, `TM`, `TH`, `TD`, `PRN`": "parked", "anything else": "refused",
    }  # fmt: skip
