"""`make up`: services, database, demo, processes, READY, then watch until somebody asks to stop."""

import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from supervisor import secrets_file
from supervisor.checkout import Checkout, note_holder
from supervisor.child import wait_until_gone
from supervisor.errors import ProcessError, SetupError
from supervisor.ports import LOCALHOST, listen_on_free_port
from supervisor.processes import STOP_TIMEOUT_S, Platform, process_environment
from supervisor.progress import say, step
from supervisor.services import running_services
from supervisor.stop_signals import StopRequested
from supervisor.watch import Watched, watch

FIRST_PORT = 8000
PAGE_TIMEOUT_S = 120.0
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def up(root: Path, environ: Mapping[str, str]) -> None:
    """Run until stopped. Raises SetupError when something has to be changed first."""
    first_port = _choices(environ)
    checkout = Checkout(root)
    checkout.prepare()
    with checkout.lock() as held:
        secrets = secrets_file.load_or_create(checkout.secrets)
        everyone: list[Watched] = []
        try:
            with running_services(checkout, secrets, environ) as services, listen_on_free_port(first_port) as listener:
                address = f"http://{LOCALHOST}:{listener.getsockname()[1]}"
                environment = process_environment(
                    environ, checkout=checkout, services=services, key=secrets.django_key, address=address
                )
                checkout.save_environment(environment)
                platform = Platform(checkout, environment)
                try:
                    _prepare(platform, owner_url=services.database.owner)
                    everyone += [platform.web(listener.fileno()), *platform.workers()]
                    _launch(everyone, address)
                    note_holder(held, f"process {os.getpid()}, {address}")
                    _welcome(environment, address)
                    watch([*services.watched, *everyone])
                finally:
                    _stop(everyone)
        except StopRequested:
            say("\nstopped: every process has ended, the data is kept")


def _prepare(platform: Platform, *, owner_url: str) -> None:
    with step("database at the version of this code"):
        # only this command may change tables, so only it learns how
        platform.run_once("provision", extra={"DATABASE_OWNER_URL": owner_url})
    if platform.environment["DEMO"] == "1":
        with step("demo people, laboratory and order"):
            say("")
            platform.run_once("seed_demo", show=True)


def _launch(everyone: list[Watched], address: str) -> None:
    with step("web, engine worker, platform worker, beat"):
        for one in everyone:
            one.launch()
        _wait_for_page(address, everyone)


def _welcome(environment: Mapping[str, str], address: str) -> None:
    if environment["DEMO"] == "1":
        say("new passwords for the demo people: make manage CMD=demo_passwords")
    say("logs: .run/logs    Ctrl-C stops everything")
    say(f"READY {address}")


def _wait_for_page(address: str, everyone: list[Watched]) -> None:
    deadline = time.monotonic() + PAGE_TIMEOUT_S
    while not (_answers(f"{address}/health/ready") and _answers(f"{address}/")):
        for one in everyone:
            one.look()
        if time.monotonic() > deadline:
            raise ProcessError(f"{address} does not answer after {PAGE_TIMEOUT_S:.0f} s; see .run/logs/web.log")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    # an empty ProxyHandler: a proxy set for the outside world must not be asked for this machine
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _stop(everyone: list[Watched]) -> None:
    children = [one.child for one in everyone if one.child is not None]
    for child in wait_until_gone(children, within_s=STOP_TIMEOUT_S):
        say(f"{child.name} did not end within {STOP_TIMEOUT_S:.0f} s and was killed; its work is taken up at the next start")


def _choices(environ: Mapping[str, str]) -> int:
    """What a person may have set is looked at before anything starts; the first port to try."""
    if environ.get("DEMO", "1") not in ("0", "1"):
        raise SetupError(f"DEMO: 0 or 1 is needed, not {environ['DEMO']!r}")
    if environ.get("LOG_LEVEL", "INFO").upper() not in LOG_LEVELS:
        raise SetupError(f"LOG_LEVEL: one of {', '.join(LOG_LEVELS)} is needed, not {environ['LOG_LEVEL']!r}")
    if not Path(environ.get("MODELS_DIR", ".")).is_dir():
        raise SetupError(f"MODELS_DIR: there is no folder {environ['MODELS_DIR']}")
    return _first_port(environ)


def _first_port(environ: Mapping[str, str]) -> int:
    text = environ.get("PORT") or str(FIRST_PORT)
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise SetupError(f"PORT: a number from 1 to 65535 is needed, not {text!r}")
    return int(text)
