"""Starts what Helicase runs on: embedded Postgres and Valkey, the two database roles, and the processes of `make up`.

Imports the standard library, psycopg and redis only, so that it works before Django is set up and beside it.
"""
