"""Oversight: checks of the audit chain, asked for or nightly, and who is told when something is not as it was."""
