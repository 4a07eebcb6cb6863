"""What an engine of a worker that runs did in its last seconds, as a picture and for Perfetto."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from engine_queue import asking, errands, host


class Command(BaseCommand):
    help = "Write NAME.svg and NAME.json of the last seconds of an engine: numbers of requests, no sequence and no patient."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("worker", help="its name")
        parser.add_argument("deployment")
        parser.add_argument(
            "--by", required=True, metavar="EMAIL", help="the person who asks; needs the right to look at the engine"
        )
        parser.add_argument("--seconds", type=float, default=10.0, help=f"of the past, {errands.LONGEST_TRACE:g} at most")
        parser.add_argument("--out", type=Path, required=True, metavar="NAME", help="of both files, without an ending")
        parser.add_argument("--wait", type=float, default=60.0, metavar="SECONDS", help="for the worker")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["wait"] <= 0:
            raise CommandError("what is asked for is written at once: it has to --wait", returncode=2)
        out, seconds, deployment = options["out"], options["seconds"], options["deployment"]
        trace, said = asking.trace(deployment, options)
        title = f"{deployment} on worker {options['worker']}"
        for ending, text in host.pictures(trace, seconds, title).items():
            try:
                out.with_name(out.name + ending).write_text(text, encoding="utf-8")
            except OSError as error:
                raise CommandError(f"{out}{ending}: {error.strerror}", returncode=2) from error
        self.stdout.write(f"{said}: {out}.svg, {out}.json")
