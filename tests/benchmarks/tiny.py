"""A model and a machine small enough to run a workload in a test."""

from benchmarks.models import Shape
from benchmarks.peer import Work

TINY = Shape("tiny", hidden=64, layers=2, heads=2, kv_heads=1, head_dim=32, intermediate=96, context=2048)
WORK = tuple(Work(tuple(4 + (place * 7 + at * at) % 4 for at in range(9 + 23 * place)), 3 + 5 * (place % 3)) for place in range(6))
