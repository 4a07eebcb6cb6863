"""Bring a model folder into the registry, and make a deployment of it."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from accounts import named
from foundation.actor import Actor
from foundation.errors import Refused
from registry import admission, services
from registry.admission import Admitted

PINNED = (
    "threads",
    "isa",
    "kernels",
    "slots",
    "blocks",
    "token_budget",
)  # of the options; precision is a column of its own as well


class Command(BaseCommand):
    help = "Load a model folder as a worker would, prove its bits, score with it, and register it under its digests."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "folder", type=Path, help="config.json, safetensors, tokenizer; copied below MODELS_DIR where it is not"
        )
        parser.add_argument("--name", default="", help="default: the folder's")
        parser.add_argument("--model-version", default="1.0", help="of these bytes; other bytes need another")
        parser.add_argument("--deployment", default="", metavar="NAME", help="make a deployment of it, which workers can serve")
        parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
        parser.add_argument("--threads", type=int, default=2)
        parser.add_argument("--isa", choices=("auto", "avx2", "avx512"))
        parser.add_argument("--kernels", choices=("auto", "reference", "native", "numba"))
        parser.add_argument("--slots", type=int, help="sequences computed at once")
        parser.add_argument("--blocks", type=int, help="KV blocks: they bound the longest input")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the person who decides; a model steward")
        parser.add_argument("--token-budget", type=int, help="tokens a step may compute")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["folder"]
        pin = _pin(options)
        name = options["name"] or path.resolve().name
        try:
            actor = named.person(options["by"])
            admitted = admission.admit(path, name=name, version=options["model_version"], pin=pin, actor=actor)
            self._tell(admitted)
            if options["deployment"]:
                self._deploy(admitted, options["deployment"], options["precision"], pin, actor)
        except Refused as error:
            raise CommandError(str(error), returncode=2) from error

    def _deploy(self, admitted: Admitted, name: str, precision: str, pin: dict[str, Any], actor: Actor) -> None:
        services.register_deployment(name=name, model_version=admitted.model_version, precision=precision, pin=pin, actor=actor)
        self.stdout.write(f"deployment {name}: {precision}, {', '.join(f'{key} {value}' for key, value in pin.items())}")
        self.stdout.write(f"serve it: manage.py engine_worker --name engine-1 --deployment {name}")

    def _tell(self, admitted: Admitted) -> None:
        row, found = admitted.model_version, admitted.inspection.found
        reads = f"{found['token_bases']} bases a token" if found["token_bases"] else "tokens of several widths"
        self.stdout.write(
            f"{row}: {found['architecture']}, {found['parameters']:,} parameters, {reads}, context {found['context']:,}"
        )
        self.stdout.write(f"bytes   {row.digest} ({len(row.files)} files in {row.folder})")
        self.stdout.write(f"golden  {admitted.inspection.golden} under fingerprint {found['fingerprint'][:12]}…")
        self.stdout.write(f"smoke   {found['smoke_log_likelihood']} nats for {found['smoke_bases']} bases")
        for note in admitted.notes:
            self.stdout.write(f"note    {note}")


def _pin(options: dict[str, Any]) -> dict[str, Any]:
    """What the engine is asked for: settings that were given, and a precision that is not the engine's own choice."""
    pin = {name: options[name] for name in PINNED if options[name] is not None}
    return pin if options["precision"] == "fp32" else {**pin, "precision": options["precision"]}
