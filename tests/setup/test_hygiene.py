"""Nothing that belongs to one machine or one person is committed."""

import re

import pytest

from tests.services import ROOT
from tests.setup import tracked

HOME = re.compile(rb"(?<![\w.~-])/(?:home|Users|roo[t])/[\w.-]+")
KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b")
INDEX = re.compile(
    rb"https?://[^\s/]+/(?:\S+/)?simple\b|https?://[^\s/]*(?:pypi|artifactory|nexus|devpi)[^\s/]*|://[^\s/]*:\d+/pypi"
)
FORBIDDEN = {"a path in somebody's home": HOME, "a private key": KEY, "a package index": INDEX}
# what decides where packages and images come from names no host at all
INSTALLING = ["requirements.lock", "requirements-dev.lock", "pyproject.toml", "Makefile", "Dockerfile", ".ci/run", ".dockerignore"]


def found(pattern: re.Pattern[bytes]) -> list[str]:
    contents = ((path, (ROOT / path).read_bytes()) for path in tracked.files())
    return [f"{path}: {match.group().decode()}" for path, content in contents for match in pattern.finditer(content)]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_holds(what: str) -> None:
    assert found(FORBIDDEN[what]) == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a path in somebody's home", "see /" + "home/somebody/notes.txt"),
        ("a path in somebody's home", "cp /" + "root/x ."),
        ("a private key", "-----BEGIN OPENSSH " + "PRIVATE KEY-----"),
        ("a package index", "--index-url https:" + "//packages.example:8080/simple"),
        ("a package index", "http:" + "//pypi.internal.example/x"),
    ],
)
def test_what_is_forbidden_is_recognised(what: str, text: str) -> None:
    assert FORBIDDEN[what].search(text.encode())


@pytest.mark.parametrize("path", INSTALLING)
def test_no_host_is_named_where_packages_are_chosen(path: str) -> None:
    hosts = re.findall(r"://(?:[^\s/@]*@)?([\w.-]+)", (ROOT / path).read_text())
    assert set(hosts) <= {"localhost", "127.0.0.1"}


def test_the_folders_that_hold_secrets_are_ignored_by_git() -> None:
    assert {".run/", ".venv"} <= set((ROOT / ".gitignore").read_text().splitlines())
    assert [path for path in tracked.files() if path.parts[0] in (".run", ".venv")] == []
