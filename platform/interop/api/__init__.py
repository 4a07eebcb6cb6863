"""The JSON API below /api/v1/: the same services, selectors and rights as the pages."""
