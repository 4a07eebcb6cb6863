"""Weights of a model folder in safetensors, whole or in shards: headers are checked first, then tensors are read one at a time.

Only data is read. Pickled weights can run code when they are opened, so they never are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.errors import ModelRefused
from engine.model_config import ModelConfig
from engine.tokenizers import files

_INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"
_STORED = ("F64", "F32", "F16", "BF16")  # any of them becomes float32, F64 by rounding
_OTHER = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".gguf", ".h5", ".msgpack")  # weights in formats that are not read
_POINTER, _POINTER_BYTES = b"version https://git-lfs", 64
_LONGEST_HEADER = 16 << 20  # bytes: tens of thousands of tensors
_MADE_HERE = re.compile(r"(model\.layers\.\d+\.self_attn|model)\.rotary_emb\.inv_freq")  # left in old checkpoints; not weights

Shape = tuple[int, ...]


def shapes(config: ModelConfig) -> Iterator[tuple[str, Shape]]:
    """Names and shapes of all tensors of a published checkpoint, layer by layer."""
    c, q, kv = config, config.heads * config.head_dim, config.kv_heads * config.head_dim
    yield "model.embed_tokens.weight", (c.vocabulary, c.hidden)
    yield "model.norm.weight", (c.hidden,)
    if not c.tied:
        yield "lm_head.weight", (c.vocabulary, c.hidden)
    biases: dict[str, Shape] = {}
    layer: dict[str, Shape] = {
        "input_layernorm": (c.hidden,),
        "self_attn.q_proj": (q, c.hidden),
        "self_attn.k_proj": (kv, c.hidden),
        "self_attn.v_proj": (kv, c.hidden),
        "self_attn.o_proj": (c.hidden, q),
        "post_attention_layernorm": (c.hidden,),
        "mlp.gate_proj": (c.intermediate, c.hidden),
        "mlp.up_proj": (c.intermediate, c.hidden),
        "mlp.down_proj": (c.hidden, c.intermediate),
    }
    if c.qkv_bias:
        biases |= {f"self_attn.{name}_proj.bias": (size,) for name, size in (("q", q), ("k", kv), ("v", kv))}
    if c.output_bias:
        biases["self_attn.o_proj.bias"] = (c.hidden,)
    if c.head_norms:
        layer |= {"self_attn.q_norm": (c.head_dim,), "self_attn.k_norm": (c.head_dim,)}
    for i in range(c.layers):
        yield from ((f"model.layers.{i}.{name}.weight", shape) for name, shape in layer.items())
        yield from ((f"model.layers.{i}.{name}", shape) for name, shape in biases.items())


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder, whole or in shards, in name order; each exists and is the folder's own (`files.there`)."""
    single, sharded = files.there(folder, _SINGLE), files.there(folder, _INDEX)
    if files.there(folder, "adapter_config.json"):  # transformers would apply it to whatever model it names
        raise ModelRefused(f"{folder.name} holds an adapter and not the model it changes; merge them and save the whole")
    if single and sharded:
        raise ModelRefused(f"the folder holds {_SINGLE} and {_INDEX}: which of them is the model cannot be told")
    if single:
        return [_inside(folder, _SINGLE)]
    if sharded:
        return [_inside(folder, name) for name in sorted(set(_weight_map(folder).values()))]
    strays = sorted(path.name for path in folder.glob("*.safetensors"))
    if strays:
        raise ModelRefused(
            f"{folder.name} holds {strays[0]} and no {_INDEX} that says which files make the model; one file alone is {_SINGLE}"
        )
    others = sorted(path.name for path in folder.iterdir() if path.suffix in _OTHER)
    if not others:
        raise ModelRefused(f"{folder.name} holds neither {_SINGLE} nor {_INDEX}; other formats are not read")
    raise ModelRefused(
        f"{folder.name} holds its weights as {others[0]}, and other formats are not read than safetensors, for to open a pickle "
        "is to run what it says; where you trust it, load it with transformers and call save_pretrained, which writes safetensors"
    )


def _weight_map(folder: Path) -> dict[str, str]:
    places = files.json_object(folder, _INDEX).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ModelRefused(f"{_INDEX} has no weight_map of tensors and files")
    for file in places.values():
        if not isinstance(file, str) or not file.isprintable() or not file.endswith(".safetensors"):
            raise ModelRefused(f"{_INDEX} has no weight_map of tensors and safetensors files: it names {str(file)[:80]!r}")
    return places


def _inside(folder: Path, name: str) -> Path:
    if Path(name).name != name:
        raise ModelRefused(f"{_INDEX} names {name[:200]}, which lies outside the folder")
    if not files.there(folder, name):
        raise ModelRefused(f"{_INDEX} names {name}, which is missing")
    return folder / name


@dataclass(frozen=True, slots=True)
class _Stored:
    path: Path
    shape: Shape
    kind: str  # as safetensors spells it, such as BF16


class Weights:
    """Tensors by name, float32 when they are taken. Nothing is held: memory is that of the tensors that were taken."""

    def __init__(self, folder: Path) -> None:
        self._stored: dict[str, _Stored] = {}
        paths = weight_files(folder)
        for path in paths:
            for name, stored in _header(path):
                if name in self._stored:
                    raise ModelRefused(f"{name[:80]} lies in two files, {self._stored[name].path.name} and {path.name}")
                self._stored[name] = stored
        if paths[0].name != _SINGLE:
            self._compare(_weight_map(folder))

    def _compare(self, places: dict[str, str]) -> None:
        for name, file in places.items():
            if name not in self._stored or self._stored[name].path.name != file:
                raise ModelRefused(f"{_INDEX} says that {name[:80]} lies in {file}, and it does not")
        for name, stored in self._stored.items():
            if name not in places and not _MADE_HERE.fullmatch(name):
                raise ModelRefused(f"{stored.path.name} holds {name[:80]}, which {_INDEX} does not name")

    def expect(self, expected: Iterable[tuple[str, Shape]], *, tied: bool) -> None:
        """Compare the headers with the names and shapes of a model: nothing may be missing, differ or be left over."""
        known = set()
        for name, shape in expected:
            stored = self._stored.get(name)
            if stored is None:
                raise ModelRefused(f"the weights have no {name}")
            if stored.shape != shape:
                raise ModelRefused(f"{name} has shape {stored.shape} and config.json says {shape}")
            if stored.kind not in _STORED:
                raise ModelRefused(f"{name} holds {stored.kind} and no floating-point numbers of 16 bits or more; is it quantized?")
            known.add(name)
        over = [name for name in self._stored if name not in known and not _MADE_HERE.fullmatch(name)]
        if tied and "lm_head.weight" in over:
            self._compare_tied()
            over.remove("lm_head.weight")
        if over:
            raise ModelRefused(
                f"the weights hold {len(over)} tensors that such a model does not have, the first is {over[0][:80]!r}"
            )

    def _compare_tied(self) -> None:
        head, embedding = (self._stored[name] for name in ("lm_head.weight", "model.embed_tokens.weight"))
        if head.shape != embedding.shape or not torch.equal(self.take("lm_head.weight"), self.take("model.embed_tokens.weight")):
            raise ModelRefused(
                "config.json ties the head to the embedding, and the weights hold a lm_head.weight with other numbers"
            )

    def take(self, name: str) -> Tensor:
        """Read one tensor that was expected, as float32; ModelRefused where a number of it is not finite."""
        stored = self._stored[name]
        with _opened(stored.path) as file:
            taken: Tensor = file.get_tensor(name).to(torch.float32, copy=True)  # aligned: the bits of a library may depend on it
        if not bool(taken.isfinite().all()):
            raise ModelRefused(f"{name} holds numbers that are not finite")
        return taken


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The file, its header checked by the library: sizes, offsets and the length of the file agree."""
    try:
        with path.open("rb") as raw:
            header = int.from_bytes(raw.read(8), "little")
        if header > _LONGEST_HEADER:  # the library would read it into memory
            raise ValueError(f"its header would have {header:,} bytes")
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelRefused(f"{path.name} cannot be read: {_wrong_with(path) or error}") from error


def _wrong_with(path: Path) -> str:
    """What most often is wrong with a download, in words; blank where it is something else."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            first = file.read(_POINTER_BYTES)
            if first.startswith(_POINTER):
                return "it is the pointer that Git LFS puts in the place of a file; fetch the file itself with git lfs pull"
            header = int.from_bytes(first[:8], "little")
            if size < 8 or (8 + header > size and header <= _LONGEST_HEADER):
                return f"it is cut off inside its header, at {size:,} bytes"
            if header > _LONGEST_HEADER:
                return f"its header would have {header:,} bytes, and {_LONGEST_HEADER:,} are the most that is read"
            file.seek(8)
            found = json.loads(file.read(header))
        ends = [entry["data_offsets"][1] for name, entry in found.items() if name != "__metadata__"]
        whole = 8 + header + max(ends, default=0)
    except (OSError, ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        return ""  # then the library says it
    if whole > size:
        return f"it has {size:,} bytes of the {whole:,} that its header speaks of: it is cut off, or not all of it was fetched"
    return f"it has {size:,} bytes, and its header speaks of {whole:,}" if whole < size else ""


def _header(path: Path) -> Iterator[tuple[str, _Stored]]:
    with _opened(path) as file:
        for name in file.keys():  # noqa: SIM118 — no mapping
            piece = file.get_slice(name)
            yield name, _Stored(path, tuple(piece.get_shape()), piece.get_dtype())
