"""Audit: insert-only events, and the one way to change a state."""
