"""python -m supervisor VERB

up         start Helicase on this machine, until Ctrl-C
manage     run manage.py with the environment of the running processes
roles      make the two database roles (DATABASE_ADMIN_URL, DATABASE_URL, DATABASE_OWNER_URL)
reachable  exit 0 when database and broker answer
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from supervisor import external, stop_signals
from supervisor.checkout import Checkout
from supervisor.errors import SetupError
from supervisor.processes import manage
from supervisor.up import up

ROOT = Path(__file__).resolve().parents[2]


def _up(_: list[str]) -> None:
    stop_signals.install()
    up(ROOT, os.environ)


def _manage(arguments: list[str]) -> None:
    manage(Checkout(ROOT), arguments)


def _roles(_: list[str]) -> None:
    external.make_roles(
        admin_url=_variable("DATABASE_ADMIN_URL"),
        database_url=_variable("DATABASE_URL"),
        database_owner_url=_variable("DATABASE_OWNER_URL"),
    )


def _reachable(_: list[str]) -> None:
    external.check_database(_variable("DATABASE_URL"))
    external.check_redis(_variable("REDIS_URL"))


VERBS: dict[str, Callable[[list[str]], None]] = {"up": _up, "manage": _manage, "roles": _roles, "reachable": _reachable}


def main() -> int:
    parser = argparse.ArgumentParser(prog="supervisor", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    try:
        VERBS[chosen.verb](chosen.arguments)
    except SetupError as problem:
        sys.stderr.write(f"helicase: {problem}\n")
        return problem.exit_code
    except stop_signals.StopRequested:
        pass  # asked to stop before anything was started
    return 0


def _variable(name: str) -> str:
    if not os.environ.get(name):
        raise SetupError(f"{name} is not set")
    return os.environ[name]


if __name__ == "__main__":
    sys.exit(main())
