"""The columns of a manifest: what each is called, what belongs in it, and which cannot be left out."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column, as the page and the template name it."""

    name: str
    words: str
    required: bool = True  # the column; a cell is required where the form requires its field
    field: str = ""  # what `orders.validation` calls it, where that differs

    @property
    def of(self) -> str:
        return self.field or self.name


COLUMNS = (
    Column("mrn", "medical record number (MRN), exactly as your hospital writes it"),
    Column("family_name", "as in the hospital's records"),
    Column("given_name", "as in the hospital's records"),
    Column("birth_date", "YYYY-MM-DD"),
    Column("sex", "female, male, other or unknown"),
    Column("specimen", "label on the tube", field="specimen_identifier"),
    Column("specimen_type", "such as Blood, Tissue, Isolate"),
    Column("specimen_source", "where it was taken from", required=False),
    Column("collected_at", "YYYY-MM-DD HH:MM in the site's zone, or with an offset: 2026-10-25 02:30+01:00"),
    Column("file", "name of the file in the ZIP; for a table alone, name or SHA-256 of a file uploaded before", field="intake"),
    Column("sample", "column of a VCF with several samples", required=False),
    Column("test", "code of the test"),
    Column("laboratory", "code of the laboratory, where several offer the test", required=False),
    Column("priority", "stat, asap, urgent or routine"),
    Column("stat_reason", "why it cannot wait; needed for stat", required=False),
    Column("indication", "clinical question", required=False),
    Column("provider", "identifier or name of the ordering provider; needed where the organisation has providers", required=False),
    Column("site", "code of the ordering site; times are read in its zone", required=False),
    Column("performing_site", "code of the laboratory's site that performs; empty: its main one", required=False),
    Column("placer_number", "your own number of the order", required=False),
    Column("placer_system", "the system that gave it", required=False),
    Column("downtime", "of an order taken on paper in a downtime: its code, such as D3; the others below with it", required=False),
    Column("requested_at", "when it was asked for on paper; its due times count from here", required=False),
    Column("taken_by", "who took it on paper: address or name of a colleague, or any name", required=False),
    Column("late_reason", "why it was taken on paper: unreachable, interface, login, found or other", required=False),
    Column("late_words", "the reason in words; needed for other", required=False),
    Column("received_at", "when its specimen came, if it had come", required=False),
    Column("condition", "in which condition; empty: acceptable", required=False),
)
LATE = ("downtime", "requested_at", "taken_by", "late_reason", "late_words", "received_at", "condition")
BY_NAME = {column.name: column for column in COLUMNS}
REQUIRED = tuple(column.name for column in COLUMNS if column.required)
BY_FIELD = {column.of: column.name for column in COLUMNS}


def column_of(field: str) -> str:
    """The column in which something said of a field of the order is put right."""
    return BY_FIELD.get(field, field if field in BY_NAME else "")


def template() -> str:
    """A manifest without rows."""
    return ",".join(column.name for column in COLUMNS) + "\r\n"
