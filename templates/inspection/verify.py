"""Check an audit pack: python3 verify.py [folder [anchors]] (Python 3.8 or newer, nothing else). Ends with 0: all as sealed.

1. The folder holds the files that SHA256SUMS names, with their digests, and no other. 2. Every sealed event has the digest of its
link, every link the hash of its content and of the link before it, and each stretch of links ends with the hash of an anchor.
3. The rows of events.csv and looks.csv are these events and those of unsealed.txt, each once, and say in "time (UTC)", "who", "as
kept" and "object id" what was sealed; the other columns tell the same for reading. The pack alone proves only that it agrees with
itself: name your own copy of the laboratory's anchors, and take this script from an installation that you trust.
"""

import csv
import json
import sys
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

HERE = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
HELD_UP = timedelta(minutes=10)  # that sealing may lag behind what was sealed already
bad, texts, rows = [], {}, {}


def check(holds, words):
    """Keep what does not hold."""
    if not holds:
        bad.append(words)


def lines(name):
    return (HERE / name).read_bytes().decode("utf-8").split("\n")[:-1] if (HERE / name).is_file() else []


def moment(text):
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


named = dict(line.split("  ", 1)[::-1] for line in lines("SHA256SUMS"))
for name in sorted({one.name for one in HERE.iterdir()} | set(named) - {"SHA256SUMS"}):
    there = HERE / name
    good = name == "SHA256SUMS" or (there.is_file() and sha256(there.read_bytes()).hexdigest() == named.get(name))
    check(good, f"{name} is no file of the pack, or was changed")
heads = {anchor["seq"]: anchor["hash"] for anchor in map(json.loads, lines("anchors.txt"))}
if len(sys.argv) > 2:
    own = {line for path in Path(sys.argv[2]).glob("*.anchors") for line in path.read_bytes().decode("utf-8").split("\n")}
    check(heads and own.issuperset(lines("anchors.txt")), "the pack has no anchor, or one that is none of yours")
last = seq = 0
for link in [*map(json.loads, lines("chain.jsonl")), {"after": float("inf"), "before": ""}]:
    if "before" in link:  # a stretch begins, behind link `after`; the one before it has ended
        check(link["after"] >= seq, f"links are told twice: behind {link['after']}")
        check(seq == last or seq in heads, f"link {seq} ends a stretch, and is not anchored")
        last = seq = link["after"]
        before = link["before"]
        continue
    check(link["seq"] == seq + 1, f"link {link['seq']} does not follow link {seq}")
    if "text" in link:
        check(sha256(link["text"].encode()).hexdigest() == link["digest"], f"event {link['event']} is not what was sealed")
        texts[str(link["event"])] = json.loads(link["text"])
    parts = ("helicase-link-1", *(link[name] for name in ("seq", "event", "organisation", "recipe", "sealed", "digest")), before)
    seq, before = link["seq"], sha256("|".join(map(str, parts)).encode()).hexdigest()
    check(before == link["hash"] == heads.get(seq, before), f"link {seq} is not what was sealed")
unsealed = set(lines("unsealed.txt"))
newest = max((text[3] for text in texts.values()), default=0)
csv.field_size_limit(1 << 30)
for name in ("events.csv", "looks.csv"):
    for row in csv.DictReader((HERE / name).open(encoding="utf-8", newline="")) if (HERE / name).is_file() else ():
        event, at, told = row["event"], moment(row["time (UTC)"]), json.loads(row["as kept"])
        check(event not in rows, f"{name}: event {event} stands there twice")
        rows[event] = at
        if event in unsealed:
            late = event in texts or at < newest - HELD_UP // timedelta(microseconds=1)
            check(not late, f"{name}: event {event} was to be sealed: later ones are")
            continue
        _, _, _, when, _, _, who, action, kind, about, reason, facts, origin = texts.get(event, [None] * 13)
        kept = {"action": action, "facts": facts, "object": kind, "origin": origin, "reason": reason}
        said = (at, row["who"].lstrip("'"), row["object id"].lstrip("'"), told)
        check((when, (who or "").lstrip("'"), (about or "").lstrip("'"), kept) == said, f"{name}: event {event} is not as sealed")
for event in sorted((set(texts) | unsealed) - set(rows), key=int):
    check(False, f"event {event} has no row")
print("\n".join(bad) or f"as it was sealed: {len(texts)} events; {len(heads)} anchors to compare; not sealed yet: {len(unsealed)}")
sys.exit(bool(bad))
