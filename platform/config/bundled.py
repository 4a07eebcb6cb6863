"""The model that comes with Helicase, registered wherever it runs: an engine worker needs something to serve."""

from pathlib import Path

from django.conf import settings
from django.db.models import Q

from engine_queue import selectors
from registry import files, model_folders
from registry import services as registry
from registry.models import Deployment, ModelVersion, TestVersion

NAME, VERSION = "ecoli-orf-2k", "1.0"
DEPLOYMENT = f"{NAME}-fp32"
EARLIER = ("ecoli-orf-6l-fp32",)  # of former versions of Helicase, whose tests and orders a database may hold


def bundled_deployment() -> Deployment:
    """The bundled model and its deployment; made when they are missing, the same rows ever after.

    What a person has registered before stays as it is: these bytes under another name, or the deployment with another pin.
    Raises `RegistrationRefused` when the model is neither below MODELS_DIR nor can be put there.
    """
    known = Deployment.objects.filter(pk=DEPLOYMENT).first()
    model = _model()  # also when it is known: its bytes are proven at every start
    return known or registry.register_deployment(name=DEPLOYMENT, model_version=model, precision="fp32", pin={"threads": 2})


def served() -> list[str]:
    """What the bundled worker serves: the bundled deployment, and earlier ones that a test or an unfinished run needs."""
    offered = TestVersion.objects.filter(offered=True).values("deployment_id")
    needed = Q(pk__in=offered) | Q(pk__in=selectors.deployments_in_use())
    rows = Deployment.objects.select_related("model_version").filter(needed, pk__in=EARLIER)
    return [DEPLOYMENT, *(row.name for row in rows.order_by("pk") if files.weights(row.model_version).is_dir())]


def _model() -> ModelVersion:
    folder = model_folders.read(Path(settings.BASE_DIR) / "models" / NAME)
    known = ModelVersion.objects.filter(digest=folder.digest).first()
    name, version, called = (known.name, known.version, known.folder) if known else (NAME, VERSION, NAME)
    place = model_folders.place(folder, below=Path(settings.MODELS_DIR), called=called)
    return registry.register_model(name=name, version=version, folder=place)
