"""The model that comes with Helicase, registered wherever it runs: an engine worker needs something to serve."""

from registry import services as registry
from registry.models import Deployment

NAME = "ecoli-orf-6l"
DEPLOYMENT = f"{NAME}-fp32"


def bundled_deployment() -> Deployment:
    """The bundled model and its deployment; made when they are missing, the same rows ever after."""
    model = registry.register_model(name=NAME, version="1.0", folder=NAME)
    return registry.register_deployment(name=DEPLOYMENT, model_version=model, precision="fp32", pin={"threads": 2})
