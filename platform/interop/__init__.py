"""Interop: what other programs speak with. Authentication by token, answers that are given once, and the JSON API."""
