"""What the kernels refuse.

KernelsUnavailable    the compiled kernels cannot be had on this machine
"""


class KernelsUnavailable(Exception):
    """The compiled kernels cannot be had on this machine."""

    permanent = True
