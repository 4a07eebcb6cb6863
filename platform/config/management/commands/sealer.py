"""Start the sealer of the audit chain: one active, others stand by."""

import signal
from threading import Event
from typing import Any

from django.core.management import BaseCommand, CommandParser

from audit import keeping, keys
from config import starting


class Command(BaseCommand):
    help = "Seal events of the audit trail within a second, and write the head of the chain down outside the database every ten."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--public-key", action="store_true", help="print the public key of its signatures, and end")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["public_key"]:
            self.stdout.write(keys.signing().public_key().public_bytes_raw().hex())
            return
        starting.require()
        stop = Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: stop.set())
        keeping.run(stop, self._say)

    def _say(self, words: str) -> None:
        self.stdout.write(words)
        self.stdout.flush()  # a log file is read while the process runs
