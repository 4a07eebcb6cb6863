import uuid

import psycopg
import pytest

NAME = "helicase_chain"
EMPTY = "SET session_replication_role = replica; TRUNCATE audit_event, audit_link"  # what the set-up of a database left there


@pytest.fixture
def empty(clone_db, services):
    """A database of the test's own without events. The value is a superuser's cursor that no trigger stops."""
    with psycopg.connect(services.postgres.url(clone_db.rsplit("/")[-1]), autocommit=True) as connection:
        yield connection.execute(EMPTY)


@pytest.fixture(scope="package")
def chain(databases, django_db_blocker, tmp_path_factory):
    """One chain for all tests that only look, or whose changes are undone."""
    from tests.audit import chain as chains  # it reads models, and this file is read before Django is ready

    folder, organisations = tmp_path_factory.mktemp("anchors"), (uuid.uuid4(), uuid.uuid4())
    databases.clone(NAME)
    with psycopg.connect(databases.services.postgres.url(NAME)) as connection:
        connection.execute(EMPTY)
    with django_db_blocker.unblock():
        before = databases.point_django_to(NAME)
        try:
            chains.build(folder, organisations)
        finally:
            databases.point_django_to(before)
    yield chains.Chain(databases.services.postgres.url(NAME), folder, organisations)
    databases.drop(NAME)
