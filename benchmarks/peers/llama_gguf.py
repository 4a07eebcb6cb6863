"""A Llama folder in the Hugging Face layout, written as the GGUF file that llama.cpp reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np

TYPES = {
    "fp32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "bf16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
    "int8": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}
_LAYER = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def convert(folder: Path, place: Path, precision: str) -> None:
    """Write `place`. Norms stay float32; the other weights take the type of the precision."""
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(place, "llama")
    _describe(writer, config)
    _vocabulary(writer, config["vocab_size"])
    kind, file_type = TYPES[precision]
    writer.add_file_type(file_type)
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for name, weights in _tensors(folder / "model.safetensors"):
        projection = name.split(".")[-2]
        if projection in heads:
            weights = _interleaved(weights, heads[projection])
        target = _target(name)
        if weights.ndim == 1 or precision == "fp32":
            writer.add_tensor(target, np.ascontiguousarray(weights))
        else:
            writer.add_tensor(target, gguf.quants.quantize(np.ascontiguousarray(weights), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    for add in (writer.add_key_length, writer.add_value_length, writer.add_rope_dimension_count):
        add(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])


def _vocabulary(writer: gguf.GGUFWriter, size: int) -> None:
    """A word per id: llama.cpp wants a vocabulary even where only ids go in and out."""
    special = {1: "<s>", 2: "</s>", 3: "<unk>"}
    kinds = {1: gguf.TokenType.CONTROL, 2: gguf.TokenType.CONTROL, 3: gguf.TokenType.UNKNOWN}
    writer.add_tokenizer_model("llama")
    writer.add_token_list([special.get(number, f"t{number}") for number in range(size)])
    writer.add_token_scores([-float(number) for number in range(size)])
    writer.add_token_types([kinds.get(number, gguf.TokenType.NORMAL) for number in range(size)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(3)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)


def _target(name: str) -> str:
    part = name.removesuffix(".weight")
    if part in _WHOLE:
        return f"{_WHOLE[part]}.weight"
    _, _, layer, inner = part.split(".", 3)
    return f"blk.{layer}.{_LAYER[inner]}.weight"


def _interleaved(weights: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a rotary projection, from the halves that Hugging Face turns against each other to llama.cpp's neighbouring pairs."""
    rows, columns = weights.shape
    return weights.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _tensors(path: Path) -> list[tuple[str, np.ndarray]]:
    """Name and float32 values of every tensor of a safetensors file: a length, a header in JSON, and the numbers."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    values = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    found = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{name} is {entry['dtype']} and not F32")
        begin, end = entry["data_offsets"]
        found.append((name, values[begin:end].view(np.float32).reshape(entry["shape"])))
    return found
