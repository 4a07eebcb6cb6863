"""Check the audit chain from the command line."""

import json
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import Error, connection

from accounts.models import Organisation
from audit.verifying import Asked, Outcome, verify
from foundation import clock
from oversight import checks

STATUS = {"good": 0, "broken": 1, "incomplete": 2, "nothing": 2}
VERDICTS = {
    "good": "GOOD: every event that was checked is as it was sealed, and the chain is as it was anchored.",
    "broken": "BROKEN: something is not as it was.",
    "incomplete": "INCOMPLETE: nothing was found changed, but events have waited more than a minute to be sealed or anchored.",
    "nothing": "NOTHING was checked: nothing was sealed since then.",
}


class Command(BaseCommand):
    help = (
        "Check every event against its seal, the chain of seals, and the anchors outside the database. "
        "Ends with 0: good, 1: broken, 2: not all, or nothing, could be checked."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organisation", metavar="CODE", help="events of this one alone; links of all")
        parser.add_argument(
            "--since", metavar="TIME", help="only what was sealed since, such as 2026-12-01 or 2026-12-01T08:00+01:00"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object instead of sentences")

    def handle(self, *args: Any, **options: Any) -> None:
        asked = Asked(_organisation(options["organisation"]), _moment(options["since"]), _mark())
        try:
            with connection.cursor() as cursor:
                seen = verify(cursor, settings.AUDIT_ANCHORS, asked, now=clock.now())
        except (OSError, Error) as error:
            raise CommandError(f"the chain cannot be checked: {str(error).splitlines()[0]}", returncode=2) from error
        verdict = "nothing" if asked.since is not None and not seen.links and seen.verdict == "good" else seen.verdict
        if options["json"]:
            self.stdout.write(json.dumps({"verdict": verdict, **checks.as_facts(seen)}))
        else:
            self.stdout.write("\n".join([VERDICTS[verdict], *sentences(seen)]))
        self.stdout.flush()
        if STATUS[verdict]:
            raise SystemExit(STATUS[verdict])


def sentences(seen: Outcome) -> list[str]:
    """What was checked and what was found, a line each."""
    said = [
        f"checked: {seen.links:,} links from number {seen.first:,} on, {seen.events:,} events, {seen.anchors:,} anchors"
        f" in {seen.seconds:.1f} s",
        f"newest anchor: link {seen.anchored_seq:,}, {seen.anchored_at}" if seen.anchors else "newest anchor: none",
        f"sealed and not anchored: {_aged(seen, seen.unanchored, seen.oldest_unanchored)}",
        f"not sealed: {_aged(seen, seen.unsealed, seen.oldest_unsealed)}",
    ]
    if seen.late:
        said.append(f"sealed more than a minute after their time: {seen.late:,}, the longest {seen.latest}")
    said += [f"found: {one.sentence}" for one in seen.findings]
    if seen.found > len(seen.findings):
        said.append(f"found: {seen.found - len(seen.findings):,} more")
    return said


def _aged(seen: Outcome, number: int, oldest: datetime | None) -> str:
    return f"{number:,}, the oldest for {(seen.at - oldest).total_seconds():.1f} s" if number and oldest else f"{number:,}"


def _organisation(code: str | None) -> Any:
    if not code:
        return None
    found = Organisation.objects.filter(code=code).first()
    if found is None:
        raise CommandError(f"there is no organisation {code}", returncode=2)
    return found.pk


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--since: {text} is no time such as 2026-12-01T08:00+01:00", returncode=2) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _mark() -> str:
    good = checks.newest("good")
    return good.mark if good is not None else ""
