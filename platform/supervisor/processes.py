"""The processes of the platform: their commands and their environment."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from supervisor.checkout import Checkout
from supervisor.child import Child
from supervisor.errors import ProcessError, SetupError
from supervisor.services import RunningServices
from supervisor.watch import Watched

# relative, with the repository as working folder: the path of a checkout may hold a colon, which would split this list
PYTHON_PATH = "platform:."
STOP_TIMEOUT_S = 6.0
DRAIN = ("--drain-seconds", "1.5")  # Ctrl-C is answered within 10 s: what runs longer goes back and is scored again


@dataclass(frozen=True)
class Platform:
    """How to start one command of this checkout."""

    checkout: Checkout
    environment: Mapping[str, str]

    def child(self, name: str, *command: str, keep_open: tuple[int, ...] = ()) -> Child:
        return Child(
            name=name,
            command=[sys.executable, *command],
            log=self.checkout.log(name),
            folder=self.checkout.root,
            environment=self.environment,
            keep_open=keep_open,
        )

    def web(self, listener: int) -> Watched:
        """uvicorn on a socket that is already listening: the port cannot be lost, and a restart refuses nobody."""
        command = ("-m", "uvicorn", "config.asgi:application", "--fd", str(listener), "--timeout-graceful-shutdown", "3")
        pooled = {**self.environment, "DATABASE_POOL": "1"}
        return self._watched("web", *command, keep_open=(listener,), environment=pooled)

    def workers(self) -> list[Watched]:
        return [
            self._watched("engine-1", "manage.py", "engine_worker", "--name", "engine-1", "--bundled", *DRAIN),
            self._platform_worker("platform-1", "platform", concurrency=2),  # a slow receiver of notices takes one of them
            self._platform_worker("intake-1", "intake"),
            self._platform_worker("intake-2", "intake-large"),
            self._watched("beat", "manage.py", "beat"),
            self._watched("sealer", "manage.py", "sealer"),
        ]

    def _platform_worker(self, name: str, queue: str, *, concurrency: int = 1) -> Watched:
        options = ("--name", name, "--queue", queue, "--concurrency", str(concurrency))
        return self._watched(name, "manage.py", "platform_worker", *options)

    def run_once(self, name: str, *, extra: Mapping[str, str] | None = None, show: bool = False) -> None:
        """Run one management command to its end; `show` gives it our terminal, for what must not lie in a log."""
        child = self.child(name, "manage.py", name)
        child.environment = {**self.environment, **(extra or {})}
        child.show = show
        code = child.run_to_end()
        if code == SetupError.exit_code:
            raise SetupError(child.last_lines(1).removeprefix("CommandError: "))
        if code:
            raise ProcessError(f"manage.py {name} failed with {child.exit_status}; the end of {child.log}:\n{child.last_lines()}")

    def _watched(
        self, name: str, *command: str, keep_open: tuple[int, ...] = (), environment: Mapping[str, str] | None = None
    ) -> Watched:
        def start() -> Child:
            child = self.child(name, *command, keep_open=keep_open)
            child.environment = environment or self.environment
            child.start()
            return child

        return Watched(name=name, start=start)


def process_environment(
    environ: Mapping[str, str], *, checkout: Checkout, services: RunningServices, key: str, address: str
) -> dict[str, str]:
    """What every process gets; what the person set wins where it is a choice, never where it is an address of ours."""
    chosen = {
        "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        "SECRET_KEY": key,
        "ALLOWED_HOSTS": "127.0.0.1,localhost",
        "PUBLIC_URL": address,
        "DEMO": "0",
        "DATA_DIR": str(checkout.run / "data"),
        "AUDIT_ANCHORS": str(checkout.run / "anchors"),
        "MODELS_DIR": str(checkout.root / "models"),
        "SWAP_FOLDER": str(checkout.run / "swap"),
        "LOG_LEVEL": "INFO",
        "OMP_WAIT_POLICY": "PASSIVE",  # idle compute threads must not spin on the cores that the web needs
    }
    fixed = {
        "DATABASE_URL": services.database.app,
        "REDIS_URL": services.redis_url,
        "PYTHONPATH": PYTHON_PATH,
        "PYTHONUNBUFFERED": "1",
    }
    inherited = {name: value for name, value in environ.items() if name != "DATABASE_OWNER_URL"}
    return chosen | inherited | fixed


def manage(checkout: Checkout, arguments: list[str]) -> None:
    """Become `manage.py …` with the environment of the running processes."""
    os.chdir(checkout.root)
    os.execve(sys.executable, [sys.executable, "manage.py", *arguments], os.environ | checkout.load_environment())  # noqa: S606
