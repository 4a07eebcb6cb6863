"""Outbox: what must leave the database after a commit, at least once, and can never break the commit."""
