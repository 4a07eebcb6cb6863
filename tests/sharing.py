"""How `pytest -n 2` shares the tests out: file by file, and everything that starts whole platforms in a row on one worker.

Those tests wait for processes and fail at deadlines: two platforms at once on two cores would meet them by luck only.
Both workers must find the same tests: nothing random in the id of a test.
"""

import os
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

PLATFORMS = ("tests/browser/", "tests/flow/", "tests/setup/")


class Shared(LoadScopeScheduling):
    """A file is one unit of work, all platforms together are another."""

    @staticmethod
    def unit(nodeid: str) -> str:
        """The unit that a test belongs to."""
        return "platforms" if nodeid.startswith(PLATFORMS) else nodeid.partition("::")[0]

    def _split_scope(self, nodeid: str) -> str:
        return self.unit(nodeid)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest unit begins first. In one process the order stays what it was."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not item.nodeid.startswith(PLATFORMS))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are numbered: a compressed file holds the second in which it was made, and two workers may collect in two seconds."""
    return argname if isinstance(val, bytes) else None


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shared:
    """In place of xdist's own."""
    config.option.loadscopereorder = False  # by the number of tests says nothing of how long they take
    return Shared(config, log)
