"""Speed, measured: workloads with a fixed seed, each against the engine's own baseline, the machine's floor and peers.

    python -m benchmarks mixed --quick

`docs/benchmarks.md` says what each figure means. Nothing here is imported by the engine or the platform.
"""
