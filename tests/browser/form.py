"""The order form as a person fills it in."""

from playwright.sync_api import Page

from tests.services import ROOT

TWO_HUNDRED = ROOT / "demo" / "ecoli" / "lexA_200.vcf"
WRONG_REF = ROOT / "demo" / "bad" / "wrong_ref.vcf"
TEST = "Isolate panel, lexA region"
FIELDS = {
    "mrn": "88·1204", "family_name": "Okafor", "given_name": "Ngozi", "birth_date": "1961-03-14", "specimen_identifier": "S-7",
    "specimen_type": "Isolate", "specimen_source": "Blood culture", "collected_at": "2026-01-15T08:30",
}  # fmt: skip


def first_records(count: int) -> str:
    """The beginning of the same VCF: enough where no figure hangs on it."""
    lines = TWO_HUNDRED.read_text().splitlines(keepends=True)
    header = [line for line in lines if line.startswith("#")]
    return "".join(lines[: len(header) + count])


def choose_test(page: Page, name: str = TEST) -> None:
    page.goto("/orders/new/?poll=off")
    page.select_option("#id_test", label=name)


def check(page: Page, text: str, state: str = "ready") -> None:
    page.fill("#id_pasted", text)
    page.click("#check")
    page.wait_for_selector(f"#verdict[data-state={state}]")


def fill(page: Page, *, stat: bool = False) -> None:
    for name, value in FIELDS.items():
        page.fill(f"#id_{name}", value)
    page.select_option("#id_sex", "female")
    if stat:
        page.check("#id_priority_0")
        page.fill("#id_stat_reason", "suspected sepsis")
