"""docs/structure.md names every module, in the module's own words."""

from tests.shape.module_lines import PAGE, listing, replaced


def test_the_structure_page_lists_every_module_as_it_is_now() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert replaced(page) == page, "run: python -m tests.shape.module_lines"


def test_every_module_says_what_it_is() -> None:
    assert [line for line in listing().splitlines() if line.rstrip().endswith("`:")] == []
