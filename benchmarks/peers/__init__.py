"""Adapters for the engines that a user would pick instead. The contract stands in `benchmarks/peer.py`."""

from benchmarks.peer import Peer

PEERS: tuple[Peer, ...] = ()
