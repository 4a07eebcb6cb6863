"""The instruction set must be pinned before the first module imports torch."""

from engine import isa

isa.pin("auto")
