"""Errors of the accounts app.

foundation.Refused
├── InvalidDetails   something that was typed must be corrected (field by field)
└── LastSite         an organisation keeps one site that orders can name
"""

from collections.abc import Mapping

from foundation.errors import Refused


class InvalidDetails(Refused):
    """Some fields need to be corrected."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        super().__init__(" ".join(said for messages in fields.values() for said in messages), code="details.invalid")
        self.fields = dict(fields)


class LastSite(Refused):
    """This is the only open site of the organisation: orders have to name one. Add or open another first."""
