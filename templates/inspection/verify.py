"""Check an audit pack: python3 verify.py [folder] (Python 3.8 or newer, nothing else). Ends with 0 where all is as it was sealed.

1. Every file has the digest that SHA256SUMS names. 2. Every sealed event has the digest of its link, every link the hash of its
content and of the link before it, and where a stretch of links ends, the hash that the anchor holds. 3. The rows of events.csv and
looks.csv say what their events said. Compare anchors.txt with your own copy of the laboratory's anchors: that is the proof.
"""

import csv
import json
import sys
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

HERE = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
bad, texts = [], {}


def check(holds, words):
    """Keep what does not hold."""
    if not holds:
        bad.append(words)


def lines(name):
    return (HERE / name).read_text(encoding="utf-8").splitlines()


for line in lines("SHA256SUMS"):
    digest, name = line.split("  ", 1)
    there = HERE / name
    check(there.is_file() and sha256(there.read_bytes()).hexdigest() == digest, f"{name} is not what the pack was made with")
heads = {anchor["seq"]: anchor["hash"] for anchor in map(json.loads, lines("anchors.txt"))}
seq, before = 0, ""
for link in map(json.loads, lines("chain.jsonl")):
    if "before" in link:  # a stretch begins, behind link `after`; the one before it has ended
        seq, before = link["after"], link["before"]
        continue
    check(link["seq"] == seq + 1, f"link {link['seq']} does not follow link {seq}")
    if "text" in link:
        check(sha256(link["text"].encode()).hexdigest() == link["digest"], f"event {link['event']} is not what was sealed")
        texts[str(link["event"])] = json.loads(link["text"])
    parts = ("helicase-link-1", *(link[name] for name in ("seq", "event", "organisation", "recipe", "sealed", "digest")), before)
    seq, before = link["seq"], sha256("|".join(map(str, parts)).encode()).hexdigest()
    check(before == link["hash"] == heads.get(seq, before), f"link {seq} is not what was sealed")
unsealed = set(lines("unsealed.txt"))
for name in ("events.csv", "looks.csv"):
    for row in csv.DictReader((HERE / name).open(encoding="utf-8", newline="")) if (HERE / name).is_file() else ():
        if row["event"] not in unsealed:
            _, _, _, at, _, _, who, _, _, about, _, facts, _ = texts.get(row["event"], [None] * 13)
            told = (datetime.fromisoformat(row["time (UTC)"]) - EPOCH) // timedelta(microseconds=1)
            said = (told, row["who"].lstrip("'"), row["object id"], json.loads(row["as kept"] or "{}"))
            check((at, (who or "").lstrip("'"), about, facts) == said, f"{name}: event {row['event']} is not what was sealed")
print("\n".join(bad) or f"as it was sealed: {len(texts)} events; {len(heads)} anchors to compare; not sealed yet: {len(unsealed)}")
sys.exit(bool(bad))
