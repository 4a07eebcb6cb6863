import uuid
from collections.abc import Iterator

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.audit import chain as chains
from tests.databases import Databases

NAME = "helicase_chain"


@pytest.fixture(scope="package")
def chain(
    databases: Databases, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[chains.Chain]:
    """One chain for all tests that only look, or whose changes are undone."""
    folder, organisations = tmp_path_factory.mktemp("anchors"), (uuid.uuid4(), uuid.uuid4())
    databases.clone(NAME)
    with django_db_blocker.unblock():
        before = databases.point_django_to(NAME)
        try:
            chains.build(folder, organisations)
        finally:
            databases.point_django_to(before)
    yield chains.Chain(databases.services.postgres.url(NAME), folder, organisations)
    databases.drop(NAME)
