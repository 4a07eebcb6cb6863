"""Numerical kernels that keep the bit contract: one row gives the same bits whatever surrounds it.

`exact` holds operations whose bits follow from IEEE 754 alone, `matmul` products whose safety is proven at start-up,
`plan` the bookkeeping of one attention call, `reference` the plain kernels themselves. Three sets offer the same `layers`: `plain`,
made of these, `native`, C++ that `compiler` builds, and `numba_set`, for machines without a compiler; `choice` picks one.
"""

__version__ = "0"  # some transformers releases take a folder of this name for the hub package and look for a version

KERNEL_SET = "plain-1"  # the plain set in the deployment fingerprint: change it whenever a change of code can change a bit
