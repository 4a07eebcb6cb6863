"""Inspection: audit reports for inspectors and directors, made as platform jobs, each with its proof beside it."""
