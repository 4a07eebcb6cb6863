"""Tokenizers: from bases to ids and back, with everything that is lost on the way said."""
