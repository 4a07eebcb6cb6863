"""Which tokenizer a model folder holds, decided by the files that are there. No code of a folder is ever run."""

from __future__ import annotations

from pathlib import Path

from engine.tokenizers import vocab_json
from engine.tokenizers.interface import Tokenizer


def from_folder(folder: Path) -> Tokenizer:
    """The tokenizer of a folder; ModelRefused with a sentence where it holds none that is supported."""
    return vocab_json.from_folder(folder)
