"""Training and evaluation of the bundled model: plain torch, independent of the serving engine."""
