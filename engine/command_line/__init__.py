"""`python -m engine`: what a person can ask of the engine alone, one module for each kind of input."""
