"""The module list of docs/structure.md, from the modules themselves: `python -m tests.shape.module_lines` rewrites it."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "structure.md"
BEGIN, END = "<!-- modules: made by `python -m tests.shape.module_lines` -->", "<!-- end of modules -->"
_APPS = (
    "config dashboard interop interop/api interop/fhir inspection casefile oversight reports drift questions orders orders/intake"
    " engine_queue registry notices accounts audit outbox storage foundation supervisor"
)
PARTS = [
    *(f"platform/{app}" for app in _APPS.split()),
    "engine",
    "engine/command_line",
    "engine/swap",
    "kernels",
    "models/training",
    "benchmarks",
    "benchmarks/peers",
]
SILENT = {"__init__.py", "apps.py"}


def listing() -> str:
    """A heading per part, a line per module."""
    sections = []
    for part in PARTS:
        folder = ROOT / part
        lines = [f"* `{path.name}`: {_first_sentence(path)}" for path in sorted(folder.glob("*.py")) if path.name not in SILENT]
        sections.append(f"### `{part}`\n{_first_sentence(folder / '__init__.py')}\n\n" + "\n".join(lines))
    return "\n\n".join(sections)


def replaced(page: str) -> str:
    """The page with its list made anew."""
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n\n{listing()}\n\n{END}{rest.split(END)[1]}"


def _first_sentence(path: Path) -> str:
    text = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.?!])\s", text + " ")[0] if text else ""


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
