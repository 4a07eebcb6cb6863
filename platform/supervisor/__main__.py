"""`python -m supervisor up` starts Helicase on this machine; `python -m supervisor manage …` runs a command beside it."""

import argparse
import os
import sys
from pathlib import Path

from supervisor import stop_signals
from supervisor.checkout import Checkout
from supervisor.errors import SetupError
from supervisor.processes import manage
from supervisor.up import up

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="supervisor", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("up", help="start everything, until Ctrl-C")
    verbs.add_parser("manage", help="run manage.py with the environment of the running processes").add_argument(
        "arguments", nargs=argparse.REMAINDER
    )
    chosen = parser.parse_args()
    try:
        if chosen.verb == "manage":
            manage(Checkout(ROOT), chosen.arguments)
        stop_signals.install()
        up(ROOT, os.environ)
    except SetupError as problem:
        sys.stderr.write(f"helicase: {problem}\n")
        return problem.exit_code
    except stop_signals.StopRequested:
        pass  # asked to stop before anything was started
    return 0


if __name__ == "__main__":
    sys.exit(main())
