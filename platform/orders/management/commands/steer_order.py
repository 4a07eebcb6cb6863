"""Change the priority of an order, put it on hold, or let it go on, in the name of a person."""

from functools import partial
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from foundation.actor import Actor
from foundation.errors import HelicaseError, NotPermitted
from orders import urgency
from orders.errors import InvalidOrder
from orders.models import Order


class Command(BaseCommand):
    help = "Promote, demote, hold or release an order."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("accession", help="number of the order")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides")
        deed = parser.add_mutually_exclusive_group(required=True)
        deed.add_argument("--priority", help="stat, asap, urgent or routine")
        deed.add_argument("--hold", metavar="CODE", help=", ".join(urgency.HOLD_REASONS))
        deed.add_argument("--release", action="store_true", help="let an order on hold go on")
        parser.add_argument("--reason", default="", help="why the priority changes")
        second = "the second person, who agrees to hold an order that is or was STAT"
        parser.add_argument("--second", default="", metavar="EMAIL", help=second)

    def handle(self, *args: Any, **options: Any) -> None:
        order = Order.objects.filter(accession=options["accession"]).first()
        if order is None:
            raise CommandError(f"there is no order {options['accession']}", returncode=2)
        actor = _person(options["by"])
        if options["priority"]:
            deed = partial(urgency.change_priority, priority=options["priority"], reason=options["reason"])
        elif options["hold"]:
            second = _person(options["second"]) if options["second"] else None
            deed = partial(urgency.hold, reason=options["hold"], second=second)
        else:
            deed = partial(urgency.release)
        try:
            deed(order=order, actor=actor)
        except InvalidOrder as error:
            raise CommandError(" ".join(said for fields in error.fields.values() for said in fields), returncode=2) from error
        except HelicaseError as error:
            raise CommandError(str(error), returncode=2) from error
        order.refresh_from_db()
        self.stdout.write(f"order {order.accession}: {order.priority}{', on hold' if order.hold_reason else ''}")


def _person(email: str) -> Actor:
    try:
        return named.person(email)
    except NotPermitted as error:
        raise CommandError(str(error), returncode=2) from error
