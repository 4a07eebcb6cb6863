"""Let a job go on that waits for a person, or list those that wait."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from engine_queue import attention
from engine_queue.errors import QueueError
from engine_queue.models import Job
from foundation.errors import Refused
from foundation.reasons import WORDS


class Command(BaseCommand):
    help = "Let a job run again that needs attention. Without a number: list the jobs that do."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job", type=int, nargs="?", help="its number")
        parser.add_argument("--reason", default="", help="what was found and done; kept with the event")
        parser.add_argument("--by", default="", metavar="EMAIL", help="the person who decides; needs the right to drain workers")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["job"] is None:
            self._list()
            return
        if not options["reason"].strip() or not options["by"]:
            raise CommandError("a job goes on with a --reason and under the name of a person (--by EMAIL)", returncode=2)
        job = Job.objects.filter(pk=options["job"]).first()
        if job is None:
            raise CommandError(f"there is no job {options['job']}", returncode=2)
        try:
            person = named.person(options["by"])
            attention.resume(job, actor=person, reason=options["reason"].strip())
        except (QueueError, Refused) as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write(f"job {job.pk} waits for a worker again, by {person.name}")

    def _list(self) -> None:
        waiting = Job.objects.filter(state="queued").exclude(attention="").select_related("run").order_by("rank", "due_at", "id")
        for job in waiting:
            self.stdout.write(f"{job.pk:>8}  order {job.run.order_id or '–'}  {WORDS.get(job.attention, job.attention)}")
        if not waiting:
            self.stdout.write("no job waits for a person")
