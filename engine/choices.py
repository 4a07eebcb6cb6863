"""The probability that any one of several tokens comes next: how k-mers that begin with the same bases count as one.

log Σ P(id) = (m - maximum) - log_total + log Σ exp(logit - m), m the largest logit of the ids: nothing underflows that counts. The
exponentials are `exact.ordered_exp` in float32 and their sum a float64 tree whose shape is the number of ids, so that neither the
other lines of a step, nor the thread count, nor a library can change a bit; the result is rounded once, to float32.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from kernels import exact

Floats = npt.NDArray[np.float32]


def log_p(logits: Tensor, maximum: Floats, log_total: Floats, ids: tuple[int, ...]) -> Floats:
    """log Σ P(id) on each line: `logits [n, V]`, of which `maximum [n]` and `log_total [n]` are the normalisers, `-> [n]`.

    Not finite where a logit of the ids is not.
    """
    chosen = logits.index_select(1, torch.tensor(ids, dtype=torch.int64))
    largest = chosen.amax(-1, keepdim=True)
    weights = exact.ordered_exp(chosen - largest).to(torch.float64)
    sums = exact.ordered_sum(weights)[:, 0].tolist()  # at least 1: the largest has weight 1
    logs: npt.NDArray[np.float64] = np.array([math.log(total) if total > 0 else math.nan for total in sums])
    above: npt.NDArray[np.float64] = largest[:, 0].numpy().astype(np.float64) - maximum - log_total
    return (above + logs).astype(np.float32)
