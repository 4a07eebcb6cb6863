"""Downtimes of a laboratory: what was taken on paper is entered late, with its true times, and reconciled line by line."""
