"""Version of the engine; part of every fingerprint."""

VERSION = "0.1.0"
