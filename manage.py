"""Django's command line, with `platform/` (the source root) on the path."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main() -> None:
    """Run one management command."""
    sys.path[:0] = [str(ROOT / "platform"), str(ROOT)]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    from django.core.management import execute_from_command_line

    from config import log_lines

    log_lines.guard()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
