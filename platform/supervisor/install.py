"""Makes `.venv` and installs a lock file into it; run by the Makefile with the machine's own Python, so standard library only.

Does nothing when the lock file is the one that was installed last.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ENVIRONMENT = Path(".venv")
PYTHON = ENVIRONMENT / "bin" / "python"
REPORT_EVERY_S = 10.0
BROWSER_PACKAGES = ("chromium", "fonts-dejavu-core")
_PACKAGE = re.compile(r"^(?:Collecting|Requirement already satisfied:) ([A-Za-z0-9._-]+)", re.MULTILINE)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the terminal is this program's page


def make_environment() -> None:
    """A virtual environment; one whose interpreter does not run (moved, or killed half way) is made again."""
    if PYTHON.exists() and subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:  # noqa: S603
        return
    say(f"  making .venv with Python {sys.version.split()[0]}")
    outcome = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], capture_output=True, text=True, check=False
    )
    if outcome.returncode:
        lines = (outcome.stdout + outcome.stderr).strip().splitlines()
        sys.exit(f"helicase: no virtual environment can be made: {lines[-1] if lines else 'venv failed'}")


def install(lock: Path) -> None:
    """Install the exact versions of `lock`, unless they are there."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    stamp = ENVIRONMENT / f"{lock.name}.installed"
    if stamp.exists() and PYTHON.exists() and stamp.read_text() == digest:
        return
    make_environment()
    wanted = sum(1 for line in lock.read_text().splitlines() if "==" in line)
    say(f"  installing {wanted} packages of {lock.name}")
    started = time.monotonic()
    log = Path(".run") / "pip.log"
    # no byte code ahead of time: compiling every module of torch and sympy takes longer than all the rest
    options = ("--disable-pip-version-check", "--no-input", "--no-compile", "--progress-bar", "off")
    with log.open("wb") as output:
        command = [str(PYTHON), "-m", "pip", "install", *options, "-r", str(lock)]
        with subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as pip:  # noqa: S603
            _show_progress(pip, log, wanted=wanted, started=started)
    if pip.returncode:
        lines = log.read_text(errors="replace").splitlines()[-8:]
        sys.exit("\n".join([f"helicase: pip could not install the packages; the end of {log}:", *lines]))
    stamp.write_text(digest)
    say(f"  packages ready after {time.monotonic() - started:.0f} s")


def _show_progress(pip: subprocess.Popen[bytes], log: Path, *, wanted: int, started: float) -> None:
    """One line every few seconds in place of pip's hundreds; while it unpacks, pip itself would say nothing for a minute."""
    reported = started
    while pip.poll() is None:
        time.sleep(0.1)
        if time.monotonic() - reported < REPORT_EVERY_S:
            continue
        reported = time.monotonic()
        text = log.read_text(errors="replace")
        if "Installing collected packages" in text:
            doing = f"{sum(1 for _ in ENVIRONMENT.glob('lib/*/site-packages/*.dist-info'))} packages unpacked"
        else:
            doing = f"{min(len(set(_PACKAGE.findall(text))), wanted)} of {wanted} fetched"
        say(f"  … {doing}, {reported - started:.0f} s")


def install_browser() -> None:
    """Debian's chromium for the browser tests, where we may; elsewhere those tests skip, and say so."""
    if shutil.which("chromium"):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        say("  no chromium here, and no right to install it: the browser tests will be skipped")
        return
    say("  installing Debian's chromium for the browser tests")
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for verb in (["update"], ["install", "-y", "--no-install-recommends", *BROWSER_PACKAGES]):
        command = ["apt-get", "-qq", *verb]
        outcome = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)  # noqa: S603
        if outcome.returncode:
            lines = (outcome.stderr or outcome.stdout).strip().splitlines()
            say(f"  chromium could not be installed, the browser tests will be skipped: {lines[-1] if lines else command}")
            return


def main(arguments: list[str]) -> None:
    """`install.py LOCK [--browser]`, in the repository's folder."""
    lock, *options = arguments
    Path(".run").mkdir(exist_ok=True)
    with Path(".run/install.lock").open("w") as held:
        # `make up` and `make test` in two terminals share one environment
        fcntl.flock(held, fcntl.LOCK_EX)
        install(Path(lock))
        if "--browser" in options:
            install_browser()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
