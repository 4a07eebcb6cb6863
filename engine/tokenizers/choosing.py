"""Which tokenizer a model folder holds, decided by the files that are there. No code of a folder is ever run."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelRefused
from engine.tokenizers import files, hybrid, tokenizer_json, vocab_json, vocab_txt
from engine.tokenizers.interface import Tokenizer

# In this order: the most specific first. A folder of Carbon holds the files of its English vocabulary too.
_READERS = {
    hybrid.FILE: hybrid.from_folder,
    tokenizer_json.FILE: tokenizer_json.from_folder,
    vocab_txt.FILE: vocab_txt.from_folder,
    vocab_json.FILE: vocab_json.from_folder,
}
_OTHERS = {
    "tokenizer.model": "a sentencepiece model",
    "spiece.model": "a sentencepiece model",
    "merges.txt": "merges without a tokenizer.json",
    "tokenizer.py": "a tokenizer in Python, and no code of a folder is run",
}


def from_folder(folder: Path) -> Tokenizer:
    """The tokenizer of a folder; ModelRefused with a sentence where it holds none that is supported."""
    seen = [f"{name} ({what})" for name, what in _OTHERS.items() if (folder / name).exists()]
    for name, read in _READERS.items():
        if files.there(folder, name) and not (name == vocab_json.FILE and (folder / "merges.txt").exists()):
            return read(folder)
    hybrid.refuse_without(folder)
    *most, last = _READERS
    raise ModelRefused(f"{', '.join(most)} or {last} is missing" + (f"; not supported: {'; '.join(seen)}" if seen else ""))
