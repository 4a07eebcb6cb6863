"""What every part of the platform stands on: time, actors, scopes, state machines, reason codes. Knows no app."""
