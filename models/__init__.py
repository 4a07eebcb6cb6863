"""Bundled models, the data they were trained on, and the scripts that trained and measured them."""
