"""libllama through the ctypes declarations of its Python binding: log-probabilities of whole sequences."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from serving import Job

CHUNK = 2048  # tokens of one call for a sequence longer than that
SEQUENCES = 64  # in one call
_KINDS = {"f32": 0, "f16": 1, "q8_0": 8, "bf16": 30}  # numbers of ggml's types


class Library:
    """A context that holds the longest sequence, or SEQUENCES short ones."""

    def __init__(self, root: Path, job: Job, model: Path, *, keys: str, part: int, flash: bool) -> None:
        os.environ["LLAMA_CPP_LIB_PATH"] = str(root / "build" / "bin")
        sys.path.insert(0, str(root / "binding"))
        import llama_cpp

        self._llama = llama_cpp
        llama_cpp.llama_backend_init()
        self._model = llama_cpp.llama_model_load_from_file(os.fsencode(model), llama_cpp.llama_model_default_params())
        asked = llama_cpp.llama_context_default_params()
        asked.n_ctx = -(-max(job.context + 1, CHUNK) // 256) * 256
        asked.n_batch, asked.n_ubatch, asked.n_seq_max = CHUNK, part, SEQUENCES
        asked.n_threads = asked.n_threads_batch = job.threads
        asked.kv_unified, asked.flash_attn_type = True, int(flash)
        asked.type_k = asked.type_v = _KINDS[keys]
        self._context = llama_cpp.llama_init_from_model(self._model, asked)
        if not self._context:
            raise RuntimeError("libllama made no context")
        self._memory = llama_cpp.llama_get_memory(self._context)
        self.sequences, self.settings = SEQUENCES, {"n_ubatch": part, "type_k": keys, "flash_attn": flash}
        self._vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model))

    def logprobs(self, sequences: list[list[int]]) -> list[Any]:
        """float32 log-probabilities [T, V] after every token of each sequence."""
        self._llama.llama_memory_clear(self._memory, False)
        tokens = np.concatenate([np.array(sequence, np.int32) for sequence in sequences])
        positions = np.concatenate([np.arange(len(sequence), dtype=np.int32) for sequence in sequences])
        owners = np.repeat(np.arange(len(sequences), dtype=np.int32), [len(sequence) for sequence in sequences])
        parts = [slice(start, start + CHUNK) for start in range(0, len(tokens), CHUNK)]
        logits = np.concatenate([self._decode(tokens[part], positions[part], owners[part]) for part in parts])
        logits -= logits.max(-1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
        return np.split(logits, np.cumsum([len(sequence) for sequence in sequences])[:-1])

    def _decode(self, tokens: np.ndarray, positions: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Logits of a batch whose arrays stay ours: libllama reads them during the call only."""
        count = len(tokens)
        one, wanted = np.ones(count, np.int32), np.ones(count, np.int8)
        places = owners.ctypes.data + 4 * np.arange(count, dtype=np.uint64)

        def pointer(array: np.ndarray, kind: Any) -> Any:
            return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))

        number = ctypes.c_int32
        batch = self._llama.llama_batch(
            n_tokens=count,
            token=pointer(tokens, number),
            pos=pointer(positions, number),
            n_seq_id=pointer(one, number),
            seq_id=pointer(places, ctypes.POINTER(number)),
            logits=pointer(wanted, ctypes.c_int8),
        )
        if code := self._llama.llama_decode(self._context, batch):
            raise RuntimeError(f"llama_decode ended with {code}")
        found = np.ctypeslib.as_array(self._llama.llama_get_logits(self._context), (count * self._vocabulary,))
        return found.reshape(count, self._vocabulary).copy()
