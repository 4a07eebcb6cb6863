"""The kinds of audit reports: what each answers, and what has to be said for it."""

from dataclasses import dataclass

PERIOD = ("since", "until")


@dataclass(frozen=True)
class Kind:
    """One kind: `needs` names the fields of the form that it takes, in their order."""

    code: str
    title: str
    answers: str
    needs: tuple[str, ...]


KINDS = (
    Kind("order", "An order", "Everything that happened around one order, and who looked at it.", ("order",)),
    Kind("patient", "A patient", "Everything that happened around all orders of one patient.", ("patient",)),
    Kind(
        "access",
        "Who saw this patient",
        "Everybody who looked at anything of one patient: who, how often, what, when.",
        ("patient",),
    ),
    Kind("person", "A person's deeds", "Everything one person did and looked at in a period.", ("person", *PERIOD)),
    Kind("period", "A period", "Everything that happened in a period.", PERIOD),
    Kind(
        "model",
        "A model version",
        "Every run that one model version computed, its order, and the reports that rest on it.",
        ("model", *PERIOD),
    ),
    Kind(
        "signatures",
        "Signatures",
        "Every signature of a period, and whether it still stands over the content of its report.",
        PERIOD,
    ),
    Kind("turnaround", "Turnaround", "Every order of a period with its times, its due times, and whether they were kept.", PERIOD),
)
BY_CODE = {kind.code: kind for kind in KINDS}
