"""What must hold before a process begins its work: no demo people outside a demonstration."""

from django.core.management import CommandError
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from config import checks


def require() -> None:
    """End the process with one line, exit code 2, where a check on demo people fails; 1 where the database cannot be asked.

    Called first by every command that works on orders, by `provision`, and by the web: Django itself runs the checks that need
    a database only when somebody types `manage.py check --database default`.
    """
    try:
        found = [*checks.demo_is_not_production(None), *checks.demo_people_only_in_demo(None, databases=[DEFAULT_DB_ALIAS])]
    except OperationalError as error:
        raise CommandError(f"the database cannot be used: {str(error).splitlines()[0]}", returncode=1) from error
    finally:
        connections[DEFAULT_DB_ALIAS].close()  # whoever starts sets its connections up after this
    if found:
        raise CommandError("; ".join(f"{problem.msg}. {problem.hint}" for problem in found), returncode=2)
