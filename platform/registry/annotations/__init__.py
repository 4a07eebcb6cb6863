"""Annotations: transcripts read from GFF3 or GenBank, kept in one form, and what a change does to them."""
