"""What earlier sequences computed and later ones may take up: full blocks by the chain of tokens that led to them.

A key is a keyed hash over the key before it and the tokens of the block, begun from a secret of this process, the deployment and
the sharing of the request: who does not share finds nothing, and a key tells nothing about the tokens.

Every entry keeps its origin: the span of time in which it, and all that it was built on, was computed. Worker and runtime are those
of the process, with which the cache ends.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from array import array
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

from engine.blocks import BlockPool
from engine.kinds import Scoring
from engine.ledger import Ledger
from engine.request import PRIVATE, Sharing
from engine.sequence import Link, Sequence

_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Entry:
    """A full block. `scores` are log P of the tokens inside it (the very first token of a sequence has none), None: never
    scored.
    """

    key: bytes
    block: int
    tokens: tuple[int, ...]
    scores: array[float] | None
    since: float  # when the oldest was computed that it is built on, its own chain included …
    until: float  # … and when it was computed itself, by the clock of outcomes


class PrefixCache:
    """Finds blocks by content. One deployment, one cache; `pool` tells which blocks it had to give away."""

    def __init__(self, pool: BlockPool, block_size: int, fingerprint: str, clock: Callable[[], float]) -> None:
        self._pool, self._size, self._clock = pool, block_size, clock
        self._secret, self._fingerprint = secrets.token_bytes(32), fingerprint
        self._entries: dict[bytes, Entry] = {}
        self._keys: dict[int, list[bytes]] = {}  # a block may be found by everybody, and by one that gave way
        self.hits = self.evictions = self.forgotten = 0  # blocks

    def __len__(self) -> int:
        return len(self._entries)

    def root(self, sharing: Sharing) -> bytes:
        """The key before the first block."""
        scope = "\0".join((sharing.kind, sharing.salt, self._fingerprint))
        return hashlib.blake2b(scope.encode(), key=self._secret, digest_size=_KEY_BYTES).digest()

    def match(self, links: Iterable[Link], *, scored: bool, seen_from: Callable[[int], int] | None = None) -> list[Entry | None]:
        """The blocks of a chain as far as they can be taken up; with `scored`, of blocks that bring their scores.

        Under a sliding window `seen_from` tells the first block that is read to compute a position: those before it may be
        missing (None) where no scores are wanted.
        """
        self.strike_out()
        found: list[Entry | None] = []
        usable = run = 0  # blocks: as far as can be taken up, and without a gap to here
        for key, piece in links:
            entry = self._entries.get(key)
            if entry is None or entry.tokens != piece or (scored and entry.scores is None) or self._pool.drains(entry.block):
                entry = None
                if scored or seen_from is None:
                    break
            found.append(entry)
            run = 0 if entry is None else run + 1
            if run and (run == len(found) or (seen_from is not None and len(found) - run <= seen_from(len(found) * self._size))):
                usable = len(found)
        return found[:usable]

    def add(self, key: bytes, tokens: SequenceOf[int], block: int, scores: array[float] | None, since: float) -> bytes:
        """Make a full block findable after the block of `key`; returns its own key. A scored block replaces one without scores."""
        self.strike_out()
        piece = tuple(tokens)
        own = self._next(key, piece)
        there = self._entries.get(own)
        if there is not None and (there.scores is not None or scores is None):
            return own
        if there is not None:
            self._drop(there.block)
        self._entries[own] = Entry(own, block, piece, scores, since, max(since, self._clock()))
        self._keys.setdefault(block, []).append(own)
        self._pool.keep(block)
        return own

    def take_up(self, sequence: Sequence, ledger: Ledger) -> int:
        """Let a sequence that starts begin with what others computed of its tokens; the tokens it need not compute. One at least
        is left.
        """
        root = self._root_of(sequence)
        if not root:
            return 0
        sequence.key, found = root, self._found(sequence, root, ledger)
        if found:
            first = ledger.seen_from(len(found) * self._size)
            blocks = [entry.block for entry in found[first:] if entry is not None]
            self.hits += len(blocks)
            ledger.adopt(sequence, blocks, first)
            sequence.take_up(found, self._size)
            sequence.since = min(sequence.since, *(entry.since for entry in found if entry is not None))
        sequence.links, sequence.links_root = [], b""
        return len(found) * self._size

    def held(self, sequence: Sequence, ledger: Ledger) -> list[int]:
        """Blocks in use that a sequence would take up if it started now: it need not be given them. Others that it would find are
        to be had, but may go to somebody else, so that they save it nothing yet.
        """
        if sequence.swapped is not None and not sequence.slides:
            return [block for block in self.kept(sequence.swapped.keys) or () if self._pool.references(block)]
        root = self._root_of(sequence)
        if not root or sequence.blocks or sequence.slides:
            return []
        found = self._found(sequence, root, ledger)
        adopted = found[ledger.seen_from(len(found) * self._size) :]
        return [entry.block for entry in adopted if entry is not None and self._pool.references(entry.block)]

    def key_of(self, block: int) -> bytes | None:
        """A key under which a block can be found."""
        return next(iter(self._keys.get(block, ())), None)

    def drains(self, keys: SequenceOf[bytes]) -> bool:
        """Whether a block of these keys is being copied out."""
        return self._pool.draining > 0 and any(key in self._entries and self._pool.drains(self._entries[key].block) for key in keys)

    def kept(self, keys: SequenceOf[bytes]) -> list[int] | None:
        """The blocks of these keys; None when one of them is gone."""
        self.strike_out()
        found = [entry.block for entry in map(self._entries.get, keys) if entry is not None]
        return found if len(found) == len(keys) and not any(map(self._pool.drains, found)) else None

    def _found(self, sequence: Sequence, root: bytes, ledger: Ledger) -> list[Entry | None]:
        cap, scored = min(sequence.shareable, sequence.target - 1), isinstance(sequence, Scoring) and not sequence.own
        seen_from = None if ledger.window is None else ledger.seen_from
        if sequence.links_root != root:  # kept, for one that waits is looked after at every step
            sequence.links, sequence.links_root = [], root
        links = self.chain(root, sequence.tokens, sequence.links, cap // self._size)
        return self.match(links, scored=scored, seen_from=seen_from)

    def _root_of(self, sequence: Sequence) -> bytes:
        """Where a sequence begins to look; empty where it neither reads nor writes."""
        if not sequence.shareable or (sequence.sharing == PRIVATE and not sequence.own):
            return b""
        return sequence.own or self.root(sequence.sharing)

    def register(self, sequence: Sequence) -> None:
        """Make the full blocks of a sequence findable that are not yet."""
        size, end = self._size, min(sequence.computed, sequence.shareable)
        scored = isinstance(sequence, Scoring)
        while (start := sequence.registered * size) + size <= end:
            scores = sequence.logprobs[max(0, start - 1) : start + size - 1] if scored else None
            block, piece = sequence.blocks[sequence.registered - sequence.first], sequence.tokens[start : start + size]
            sequence.key = self.add(sequence.key, piece, block, scores, sequence.since)
            sequence.registered += 1

    def leave_own(self, sequence: Sequence) -> None:
        """A sequence gives way: what it has computed can be found again by itself alone, as long as nobody takes the blocks."""
        if sequence.resumable and not sequence.slides:
            sequence.own = sequence.own or secrets.token_bytes(_KEY_BYTES)
            sequence.key, sequence.registered, sequence.shareable = sequence.own, 0, sequence.need
            self.register(sequence)

    def strike_out(self) -> None:
        """Drop the entries of blocks that the pool gave away."""
        for block in self._pool.drain_evicted():
            self._strike(block)
            self.evictions += 1

    def forget(self, since: float = -math.inf, until: float = math.inf) -> None:
        """What this worker computed between two times is no longer trusted: drop it, and everything that is built on it."""
        self.strike_out()
        for block in {entry.block for entry in self._entries.values() if entry.since <= until and since <= entry.until}:
            self._drop(block)
            self.forgotten += 1

    def _drop(self, block: int) -> None:
        self._strike(block)
        self._pool.forget(block)

    def _strike(self, block: int) -> None:
        for key in self._keys.pop(block):
            del self._entries[key]

    def chain(self, root: bytes, tokens: SequenceOf[int], links: list[Link], blocks: int) -> Iterator[Link]:
        """The links of the first `blocks` of `tokens`; those in `links` are taken from there, and others are put there."""
        for number in range(blocks):
            if number == len(links):
                piece = tuple(tokens[number * self._size : (number + 1) * self._size])
                links.append((self._next(links[-1][0] if links else root, piece), piece))
            yield links[number]

    @staticmethod
    def _next(key: bytes, piece: Iterable[int]) -> bytes:
        return hashlib.blake2b(array("I", piece).tobytes(), key=key, digest_size=_KEY_BYTES).digest()
