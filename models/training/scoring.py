"""What the model says of windows: bits per base and log-likelihoods. Every window is preceded by `bos`."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from models.training import machine
from models.training.genome import Codes
from models.training.network import BOS, FIRST_BASE, Llama

Reals = NDArray[np.float64]
TOKENS_A_BATCH = 4_096  # larger batches are slower
CORES = 2


def as_tokens(windows: NDArray[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs (`bos`, then all bases but the last) and targets (all bases) of windows (n, length)."""
    targets = torch.from_numpy(windows.astype(np.int64) + FIRST_BASE)
    inputs = torch.cat([torch.full((len(targets), 1), BOS), targets[:, :-1]], dim=1)
    return inputs, targets


def cores() -> ThreadPoolExecutor:
    """Two threads that calculate on one core each: on a shared machine quicker than one calculation on two."""
    return ThreadPoolExecutor(CORES, initializer=torch.set_num_threads, initargs=(1,))


def bits(network: Llama, windows: Sequence[Codes]) -> Reals:
    """Bits of every base, (n, length), for windows of one length; the network in what `machine` says, sums in float32."""
    size = max(1, TOKENS_A_BATCH // len(windows[0]))
    batches = [np.stack(windows[begin : begin + size]) for begin in range(0, len(windows), size)]
    with cores() as pool:
        return np.concatenate(list(pool.map(lambda batch: _bits(network, batch), batches)))


@torch.inference_mode()
def _bits(network: Llama, batch: Codes) -> Reals:
    inputs, targets = as_tokens(batch)
    with machine.autocast():
        logits = network(inputs).float()
    losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    out: Reals = losses.double().numpy() / math.log(2)
    return out


def log_likelihoods(network: Llama, windows: Sequence[Codes]) -> Reals:
    """Natural logarithm of the probability of each whole window, (n,)."""
    total: Reals = -bits(network, windows).sum(axis=1) * math.log(2)
    return total
