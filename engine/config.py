"""Settings of one engine, checked once and frozen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from engine.errors import ConfigRefused

Mode = Literal["continuous", "static"]
Isa = Literal["auto", "avx2", "avx512"]
Precision = Literal["fp32", "bf16"]
Kernels = Literal["auto", "reference", "native", "numba"]
LARGEST_THREADS = 256  # beyond it the thread libraries exhaust the process instead of raising an error
LARGEST_SLOTS, LARGEST_BLOCKS = 1 << 16, 1 << 24  # far above any machine; beyond them the tables alone exhaust it
_TILE = 64  # keys of an attention tile; kernels.plan.TILE, repeated because settings must not import torch


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """One default configuration serves every workload; a deployment stores what it changes."""

    slots: int = 32  # sequences computed at once
    token_budget: int = 2048  # tokens a step may compute
    chunk: int = 512  # tokens one sequence may compute a step; chunks end at absolute multiples of it
    long: int = 4096  # a sequence with more tokens to go is long: beside others it waits its turn
    long_chunk: int = 64  # tokens a long one computes a step: whoever arrives waits for the end of that step
    long_share: float = 0.0625  # tokens that all long ones compute a step, relative to those of the others in it
    stat_share: float = 0.25  # tokens that all classes below compute beside STAT, relative to those of STAT in the step
    freezes: int = 4  # times one pass may stand still between two layers for STAT; 0: STAT waits for the end of the pass
    frozen_seconds: float = 2.0  # that one pass may stand still in all
    lower_share: float = 0.05  # tokens of the classes below, relative to those of STAT, that they have on average whatever presses
    reserve: int = 64  # blocks that classes below STAT leave free for it, or what its longest request needs; none in a small pool
    reserve_slots: int = 1  # slots that they leave free, an eighth of them at most
    resume_margin: int = 32  # blocks beyond its need that must be free before one comes back, for each time it was sent away
    patience: int = 64  # times one may be passed over; after that blocks gather until it fits
    ageing_seconds: float = 600.0  # after which one below ASAP has its turns in the class above
    ageing_every: int = 4  # in that class those who aged have at most one start in so many
    deep: int = 16384  # from this position on chunks are halved, and again at each doubling: attention costs grow with the context
    grid: int = 16  # a chunk cut short by the budget ends at an absolute multiple of this
    blocks: int = 2048  # blocks of the pool: two whole inputs of 32,768 tokens, or one of 65,536
    block_size: int = 32  # tokens a block; divides the attention tile
    swap_blocks: int | None = None  # blocks of the arena, in memory, for those who give way; None: half the pool; 0: no swapping
    swap_folder: str = ""  # where files take what the arena has no room for; empty: no files
    swap_file_bytes: int = 1 << 32  # of all files together at most
    swap_encrypted: bool = True  # files by AES-256-GCM with a key that is nowhere but in memory
    swap_seconds: float = 5.0  # that a file may take to be read; then what it holds is computed again
    swap_bandwidth: float = 2e9  # bytes a second between pool and arena, until it has been measured
    recompute_rate: float = 2000.0  # tokens a second that are computed again, until it has been measured
    threads: int = 2
    mode: Mode = "continuous"
    isa: Isa = "auto"  # instruction set of the library kernels; a pin must be set before torch is first imported
    precision: Precision = "fp32"  # of weights, KV and the inputs of products; sums, scores and the head stay float32
    kernels: Kernels = "auto"  # native: C++, refused where it cannot be built; auto: then numba, named in the fingerprint
    self_test: bool = True  # prove batch invariance at start; without it no result claims it
    poison_free_blocks: bool = False  # fill freed memory with NaN, so that reading it cannot go unseen
    expected_golden: str = ""  # digest this deployment must reproduce (Engine.golden); empty: any

    def __post_init__(self) -> None:
        sizes = [self.slots, self.token_budget, self.chunk, self.long, self.long_chunk, self.deep, self.grid, self.blocks]
        if any(
            type(size) is not int or size < 1 for size in [*sizes, self.block_size, self.threads]
        ):  # bool is an int, and no size
            raise ConfigRefused(
                "slots, token_budget, chunk, long, long_chunk, deep, grid, blocks, block_size, threads must be whole and at least 1"
            )
        if self.threads > LARGEST_THREADS:
            raise ConfigRefused(f"threads must be between 1 and {LARGEST_THREADS}, not {self.threads}")
        if self.slots > LARGEST_SLOTS or self.blocks > LARGEST_BLOCKS:
            raise ConfigRefused(f"slots must be at most {LARGEST_SLOTS} and blocks at most {LARGEST_BLOCKS}")
        if not (0 < self.long_share <= 1 and 0 < self.stat_share <= 1):
            raise ConfigRefused(
                f"long_share and stat_share lie above 0 and are at most 1, not {self.long_share}, {self.stat_share}"
            )
        if type(self.freezes) is not int or self.freezes < 0 or not 0 < self.frozen_seconds < math.inf:
            raise ConfigRefused(
                f"freezes is a whole number from 0 and frozen_seconds finite and above 0, not {self.freezes}, {self.frozen_seconds}"
            )
        self._check_policy()
        if self.precision not in ("fp32", "bf16"):
            raise ConfigRefused(f"precision is fp32 or bf16, not {self.precision!r}")
        if _TILE % self.block_size:
            raise ConfigRefused(f"block_size must divide {_TILE}, not {self.block_size}")
        if self.chunk % self.grid:
            raise ConfigRefused(f"chunk ({self.chunk}) must be a multiple of grid ({self.grid})")
        if self.token_budget < max(self.grid, 1):
            raise ConfigRefused(f"token_budget ({self.token_budget}) must hold at least one grid cell ({self.grid})")
        if self.mode not in ("continuous", "static"):
            raise ConfigRefused(f"mode is continuous or static, not {self.mode!r}")
        if self.isa not in ("auto", "avx2", "avx512"):
            raise ConfigRefused(f"isa is auto, avx2 or avx512, not {self.isa!r}")
        if self.kernels not in ("auto", "reference", "native", "numba"):
            raise ConfigRefused(f"kernels is auto, reference, native or numba, not {self.kernels!r}")
        self._check_swapping()

    def _check_swapping(self) -> None:
        if self.swap_blocks is not None and (type(self.swap_blocks) is not int or not 0 <= self.swap_blocks <= LARGEST_BLOCKS):
            raise ConfigRefused(f"swap_blocks is a whole number from 0 to {LARGEST_BLOCKS}, not {self.swap_blocks}")
        if type(self.swap_file_bytes) is not int or self.swap_file_bytes < 1:
            raise ConfigRefused(f"swap_file_bytes is a whole number from 1 on, not {self.swap_file_bytes}")
        speeds = (self.swap_seconds, self.swap_bandwidth, self.recompute_rate)
        if any(isinstance(speed, bool) or not isinstance(speed, int | float) or not 0 < speed < math.inf for speed in speeds):
            raise ConfigRefused(
                f"swap_seconds, swap_bandwidth and recompute_rate are finite and above 0, not {', '.join(map(str, speeds))}"
            )
        if not isinstance(self.swap_folder, str) or not isinstance(self.swap_encrypted, bool):
            raise ConfigRefused("swap_folder is a path, swap_encrypted true or false")

    def _check_policy(self) -> None:
        counts = {"reserve": self.reserve, "reserve_slots": self.reserve_slots, "resume_margin": self.resume_margin}
        for name, count in counts.items():
            if type(count) is not int or count < 0:
                raise ConfigRefused(f"{name} is a whole number from 0, not {count}")
        for name, count in {"patience": self.patience, "ageing_every": self.ageing_every}.items():
            if type(count) is not int or count < 1:
                raise ConfigRefused(f"{name} is a whole number from 1, not {count}")
        if not 0 <= self.lower_share <= 1:
            raise ConfigRefused(f"lower_share lies between 0 and 1, not at {self.lower_share}")
        if not 0 < self.ageing_seconds <= math.inf:
            raise ConfigRefused(f"ageing_seconds is a number above 0, or inf where nobody ages, not {self.ageing_seconds}")

    @property
    def arena_blocks(self) -> int:
        """Blocks of the arena. Under static batching nobody gives way."""
        chosen = self.blocks // 2 if self.swap_blocks is None else self.swap_blocks
        return 0 if self.mode == "static" else chosen
