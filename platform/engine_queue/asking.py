"""The words of the commands that send a worker on an errand: who asks, how long he waits, what he is told."""

from typing import Any

from django.core.management import CommandError, CommandParser

from accounts import named
from engine_queue import errands
from engine_queue.errors import QueueError
from engine_queue.models import Errand
from foundation.errors import Refused

WAIT_SECONDS = 900.0
_UNITS = {
    "trace_seconds": "the last {:g} s",
    "load_seconds": "loaded in {} s",
    "drain_seconds": "drained in {} s",
    "unload_seconds": "unloaded in {} s",
}


def add_options(parser: CommandParser, *, drains: bool) -> None:
    """What all of them may be told."""
    parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; needs the right to drain workers")
    parser.add_argument("--wait", type=float, default=WAIT_SECONDS, metavar="SECONDS", help="for the worker; 0: only ask")
    if drains:
        help_text = "for running jobs; what is not done by then goes back to the queue"
        parser.add_argument("--drain-seconds", type=float, default=errands.DRAIN_SECONDS, help=help_text)


def send(verb: str, deployment: str, options: dict[str, Any]) -> str:
    """Send the worker, wait, and say how it ended. Raises `CommandError` with one line when it was not done."""
    return _told(_waited_for(verb, deployment, options), waited=options["wait"])


def trace(deployment: str, options: dict[str, Any]) -> tuple[bytes, str]:
    """What an engine did last, and how to say that it was told. Raises `CommandError` as `send`."""
    errand = _waited_for("trace", deployment, options)
    said = _told(errand, waited=options["wait"])
    return bytes(errand.trace or b""), said


def _waited_for(verb: str, deployment: str, options: dict[str, Any]) -> Errand:
    try:
        errand = errands.ask(
            worker=options["worker"], verb=verb, deployment=deployment, actor=named.person(options["by"]),
            drain_seconds=options.get("drain_seconds", 0.0), trace_seconds=options.get("seconds", 0.0),
        )  # fmt: skip
    except (QueueError, Refused) as error:
        raise CommandError(str(error), returncode=2) from error
    return errands.wait(errand, seconds=options["wait"])


def _told(errand: Errand, *, waited: float) -> str:
    if errand.verb == "load" and errand.said == errands.already(errand.deployment_id):
        return f"worker {errand.worker} serves {errand.deployment_id} already"
    if errand.state == "refused":
        raise CommandError(f"worker {errand.worker} did not {errand.verb} {errand.deployment_id}: {errand.said}", returncode=1)
    if errand.state != "done":
        if waited:
            raise CommandError(f"errand {errand.pk} has not ended after {waited:g} s; it goes on", returncode=1)
        return f"errand {errand.pk}: worker {errand.worker} is asked to {errand.verb} {errand.deployment_id}"
    parts = [words.format(errand.measured[key]) for key, words in _UNITS.items() if key in errand.measured]
    if errand.verb == "unload":
        finished, given_back, tickets = (int(errand.measured[key]) for key in ("finished", "given_back", "tickets"))
        parts.append(f"{_counted(finished, 'job')} finished, {given_back} given back, {_counted(tickets, 'ticket')} passed on")
    return f"worker {errand.worker}, {errand.deployment_id}: {', '.join(parts)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
