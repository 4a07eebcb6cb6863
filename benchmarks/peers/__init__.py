"""Adapters for the engines that a user would pick instead: the contract is in `benchmarks/peer.py`, what was tuned in README.md."""

from benchmarks.peer import Peer

_EVERY = frozenset({"generate", "score", "alternatives"})

PEERS: tuple[Peer, ...] = (
    Peer("openvino", _EVERY, frozenset({"fp32", "bf16", "int8"})),
    Peer("transformers", _EVERY),
    Peer("transformers_cb", frozenset({"generate"})),
    Peer(
        "vllm",
        _EVERY,
        environment={"LD_PRELOAD": "{root}/tcmalloc/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4:{root}/lib/libiomp5.so"},
    ),
    Peer("llamacpp", _EVERY, frozenset({"fp32", "bf16", "int8"})),
)
