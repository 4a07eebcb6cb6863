"""Pytest plugin, named by `-p`: what hypothesis draws is the same in every run, so that a change is judged by its own faults.

`--hypothesis-profile=search` draws anew, which is how faults are looked for that no run has met.
"""

import pytest
from hypothesis import settings

SHRINKING = 700.0  # seconds of a test; hypothesis looks for the smallest example that fails for up to 300 of them

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("repeatable")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that found something has the time to say the least that it takes."""
    for item in items:
        if item.get_closest_marker("hypothesis") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SHRINKING))
