"""Registry: models, deployments, references by digest, test definitions. What a result is pinned to."""
