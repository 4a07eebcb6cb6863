"""Sessions in the database; a key that Django cannot have made is no key, on pages and on sockets alike."""

import re

from django.contrib.sessions.backends import db

MADE_BY_DJANGO = re.compile(r"[a-z0-9]{8,40}")


class SessionStore(db.SessionStore):
    """Asks the database only for keys that can be there: a cookie may hold anything, and a NUL is an error to PostgreSQL."""

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key if session_key and MADE_BY_DJANGO.fullmatch(session_key) else None)
