"""The audit chain: sealed, anchored, checked."""
