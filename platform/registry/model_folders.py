"""A model folder as bytes: which files may change a result, their digests, the card; and how a folder gets below MODELS_DIR."""

import errno
import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from registry import folder_links, leftovers
from registry.errors import RegistrationRefused

WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
SETTINGS = ("config.json", "generation_config.json")
TOKENIZER = (
    "vocab.json", "vocab.txt", "merges.txt", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "dna_config.json",
)  # fmt: skip
CARDS = ("CARD.md", "README.md")  # the first that is there
PAPERS = ("LICENSE*", "LICENCE*", "NOTICE*")  # kept beside the model, never part of a result
PIECE = 1 << 20
PLACE_LIMIT = 120  # characters of a folder below MODELS_DIR, as the registry keeps it
CARD_LIMIT = 1 << 20  # bytes of a card that is kept


@dataclass(frozen=True)
class HashedFile:
    """One file of a model folder."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class ModelFolder:
    """Every file of a folder that may change a result, in the order of their names, and its card."""

    path: Path
    files: tuple[HashedFile, ...]
    card_name: str  # blank: the folder has no card
    card: str
    links: tuple[str, ...] = ()  # names that are links, as in the cache of a download

    @property
    def digest(self) -> str:
        """SHA-256 over “name sha256\\n” of each file: equal digests are equal bytes under equal names."""
        return _listed(self.files)

    @property
    def card_sha256(self) -> str:
        """SHA-256 of the card's text; blank where there is none."""
        return hashlib.sha256(self.card.encode()).hexdigest() if self.card_name else ""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def weights_sha256(self) -> str:
        """SHA-256 of the weights: of the file itself, or of the list of several."""
        return _one_or_listed([file for file in self.files if file.name.endswith(".safetensors")])

    @property
    def tokenizer_sha256(self) -> str:
        """SHA-256 of what the tokenizer is made from, likewise."""
        return _one_or_listed([file for file in self.files if file.name in TOKENIZER])


def read(path: Path) -> ModelFolder:
    """Hash a folder, file by file in constant memory. Raises `RegistrationRefused` for what is no model folder."""
    if not path.is_dir():
        raise RegistrationRefused(f"there is no model folder {path}", code="model.folder")
    try:
        counting, papers = _counting(path), _papers(path)  # before anything is read
        files = tuple(HashedFile(found.name, found.stat().st_size, _sha256(found)) for found in counting)
        card = next((name for name in CARDS if path / name in papers), "")
        text = (path / card).read_bytes()[:CARD_LIMIT].decode("utf-8", "replace").replace("\0", "") if card else ""
    except OSError as error:
        raise RegistrationRefused(f"the model folder cannot be read: {error.strerror or error}", code="model.folder") from error
    if not any(file.name.endswith(".safetensors") for file in files):
        raise RegistrationRefused(f"{path.name} holds no safetensors weights; other formats are not read", code="model.folder")
    return ModelFolder(path, files, card, text, tuple(found.name for found in (*counting, *papers) if found.is_symlink()))


def place(folder: ModelFolder, *, below: Path, called: str) -> str:
    """Where the folder lies below `below`: where it is, or a copy of what counts, proven by its digest. A relative path.

    Raises `RegistrationRefused` when another folder of this name is there, or when the copy cannot be made.
    """
    here, root = folder.path.resolve(), below.resolve()
    inside = here.is_relative_to(root) and here != root
    lies = here.relative_to(root).as_posix() if inside else called
    if len(lies) > PLACE_LIMIT:
        raise RegistrationRefused(f"the folder's place {lies} is longer than {PLACE_LIMIT} characters", code="model.copy")
    if inside:
        return lies
    target = root / called
    if target.exists():
        if read(target).digest != folder.digest:
            raise RegistrationRefused(
                f"{target} exists and holds other bytes; choose another --name or --model-version", code="model.copy"
            )
        return called
    with leftovers.registering(root):
        _copy(folder, target)
    return called


def _copy(folder: ModelFolder, target: Path) -> None:
    """Under a name of its own first: a copy that was interrupted is never taken for a model."""
    unfinished = leftovers.unfinished(target.parent, f"-{target.name}")
    try:
        room = shutil.disk_usage(target.parent).free
        if room < folder.size:
            raise OSError(errno.ENOSPC, f"{folder.size:,} bytes are needed and {room:,} are free")
        unfinished.mkdir()
        for found in (*_counting(folder.path), *_papers(folder.path)):
            shutil.copyfile(found, unfinished / found.name)  # follows the links of a cache
        if read(unfinished).digest != folder.digest:
            raise OSError(errno.EIO, "the copy differs from the folder, which must not change meanwhile")
        _settle(unfinished, target, folder.digest)
    except OSError as error:
        said = f"the folder cannot be copied to {target.parent} ({error.strerror or error}); put it there yourself"
        raise RegistrationRefused(said, code="model.copy") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _settle(unfinished: Path, target: Path, digest: str) -> None:
    try:
        unfinished.rename(target)
    except OSError:
        if not target.is_dir() or read(target).digest != digest:  # else somebody who registers the same was quicker
            raise


def _counting(path: Path) -> list[Path]:
    """The files that may change a result, by name."""
    patterns = (*WEIGHTS, *SETTINGS, *TOKENIZER)
    return sorted(folder_links.require_file(found) for found in path.iterdir() if any(fnmatch(found.name, p) for p in patterns))


def _papers(path: Path) -> list[Path]:
    """Card and licences, by name."""
    patterns = (*CARDS, *PAPERS)
    named = (found for found in sorted(path.iterdir()) if any(fnmatch(found.name, pattern) for pattern in patterns))
    return [found for found in named if folder_links.is_file(found)]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _listed(files: Sequence[HashedFile]) -> str:
    return hashlib.sha256("".join(f"{file.name} {file.sha256}\n" for file in files).encode()).hexdigest()


def _one_or_listed(files: Sequence[HashedFile]) -> str:
    return files[0].sha256 if len(files) == 1 else _listed(files)
