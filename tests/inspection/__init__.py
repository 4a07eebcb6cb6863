"""Audit reports."""
