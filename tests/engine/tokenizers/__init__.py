"""Tokenizers in their published layouts."""
