"""`python -m benchmarks.peers [NAME …]`: make the environments of those peers, or of all. One that fails stops no other."""

from __future__ import annotations

import argparse
import sys

from benchmarks.peers import PEERS
from benchmarks.peers.building import BuildFailed, build


def main(names: list[str]) -> int:
    """The number of peers that could not be made."""
    known = [peer.name for peer in PEERS]
    unknown = sorted(set(names) - {*known, "all"})
    if unknown:
        print(f"no peer {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    for name in known if not names or "all" in names else names:
        try:
            build(name, lambda text: print(text, flush=True))
        except BuildFailed as failure:
            failed += 1
            print(f"{name}: not built. {failure}", file=sys.stderr)
    return min(failed, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(peer.name for peer in PEERS)}; none: all")
    sys.exit(main(parser.parse_args().names))
