"""Drift evidence: how outputs are distributed now against when they were validated, and whether what serves is what was tested."""
