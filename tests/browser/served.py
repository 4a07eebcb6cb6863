"""The platform as people meet it: a real web process, real workers, and a browser that reports what went wrong on a page."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from django.conf import settings
from django.db import connections
from django.test import Client, override_settings
from playwright.sync_api import Browser, BrowserContext, Page

from accounts.models import User
from audit import keeping
from audit.sealing import Sealer
from orders import checking
from orders.manifests import working
from orders.models import Intake, Manifest
from tests.engine_queue.workers import Crowd
from tests.services import ROOT

T = TypeVar("T")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--metrics-recording-only",
]  # fmt: skip
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


class Served:
    """One web process for all tests, on a database that is new for each; and the workers of one test."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = self.workers = crowd
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.web: subprocess.Popen[bytes] | None = None

    def start_web(self) -> None:
        """uvicorn, as in production, unless it runs; waits until it answers."""
        if self.web is None or self.web.poll() is not None:
            log = (self.crowd.folder / "web.log").open("ab")
            command = ["-m", "uvicorn", "config.asgi:application", "--port", str(self.port), "--log-level", "warning"]
            with log:
                self.web = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=os.environ, stdout=log, stderr=log)
            self.crowd.running.append(self.web)
        self.crowd.until(self._answers, 60, "the web process")

    def stop_web(self) -> None:
        assert self.web is not None
        self.web.terminate()
        self.web.wait(20)

    def start_workers(self) -> None:
        self.workers.start("platform_worker", "--name", "platform-1", "--concurrency", "1")
        self.workers.engine_worker()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health/ready", timeout=5) as response:  # noqa: S310 -- our own address
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def sealed(folder: Path) -> None:
    """Everything written so far is sealed and anchored below `folder`, as a sealer does within seconds: directors' pages say so."""
    with override_settings(AUDIT_ANCHORS=folder):
        sealer, anchoring = Sealer.take_up(), keeping.Anchoring()
        anchoring.begin(sealer.head)
        for _ in range(100):
            if not sealer.round() and sealer.swept:
                break
        anchoring.end(sealer)


class Person:
    """Somebody at a browser. `complaints` holds what no page may ever say on the console."""

    def __init__(self, browser: Browser, served: Served, **options: Any) -> None:
        self.served = served
        self.context: BrowserContext = browser.new_context(base_url=served.url, viewport=WIDE, **options)
        self.context.set_default_timeout(30_000)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))

    def come_in(self, email: str) -> None:
        """As somebody whose session goes on: the login page is walked by the tests that are about it."""
        key = elsewhere(lambda: _session(email))
        self.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": key, "url": self.served.url}])
        self.page.goto("/")
        self.page.wait_for_selector("#worklist-live")

    def _hear(self, message: Any) -> None:
        # a refused form, an address that does not exist, a stopped server and a page that was left are told on the console too
        expected = ("Failed to load resource", "WebSocket connection to", "htmx:sendError", "htmx:sendAbort", "htmx:afterRequest")
        if message.type in ("error", "warning") and not message.text.startswith(expected):
            self.complaints.append(f"{message.type}: {message.text}")


def elsewhere(read: Callable[[], T]) -> T:
    """Use the database while a browser is driven: the driver's event loop holds this thread, and Django refuses to block it."""

    def then_close() -> T:
        try:
            return read()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(then_close).result()


def _session(email: str) -> str:
    client = Client()
    client.force_login(User.objects.get(email=email))
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@contextmanager
def uploads_checked() -> Iterator[None]:
    """A thread in place of the platform worker, which takes seconds to start: the whole path is walked with the real one."""
    over = Event()

    def work() -> None:
        try:
            while not over.wait(0.05):
                for pk in Intake.objects.filter(state="waiting").values_list("pk", flat=True):
                    checking.check_intake(pk)
                for pk in Manifest.objects.filter(state__in=Manifest.WORKING).values_list("pk", flat=True):
                    working.work(pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(work)
        try:
            yield
        finally:
            over.set()
            worker.result()


def until(condition: Callable[[], object], page: Page, seconds: float = 30) -> None:
    """Wait for something that is not on the page, without stopping the page."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        page.wait_for_timeout(50)


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
