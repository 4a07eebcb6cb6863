"""What is written into a VCF: definitions for its header, and INFO values that hold for each ALT, or say why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.command_line.vcf import Header, Record
from engine.engine import Engine
from engine.protocols import Protocol
from engine.version import VERSION

PREFIX = "HELICASE_"
Value = float | int | str | Sequence[object] | None
Verdict = Mapping[str, Value]  # by name without the prefix, of one ALT; what it lacks is missing

_LINE = "##helicase="
_MISSING = "."
_LONGEST = 300  # characters of a reason; alleles may be longer than anybody reads
_RESERVED = str.maketrans({character: f"%{ord(character):02X}" for character in "%:;=, \t\r\n"})
FIELDS = {  # name: Number, Type, what it is
    "DELTA": ("A", "Float", "log P of the alternate minus log P of the reference, natural logarithm, a sum over BASES"),
    "DELTA_PER_BASE": ("A", "Float", "DELTA over BASES"),
    "LL_REF": ("A", "Float", "log P of the reference, natural logarithm, a sum over TOKENS, mean of strands"),
    "LL_ALT": ("A", "Float", "log P of the alternate, natural logarithm, a sum over ALT_TOKENS, mean of strands"),
    "BASES": ("A", "Integer", "bases of one window whose probability counts"),
    "TOKENS": ("A", "Integer", "tokens of the reference window that were scored"),
    "ALT_TOKENS": ("A", "Integer", "tokens of the alternate window that were scored, where they are not TOKENS"),
    "SCORED_AS": ("A", "String", "what was compared, see docs/protocols.md"),
    "WINDOW": ("A", "Integer", "bases of the windows, where they are not those of the protocol"),
    "OFFSET": ("A", "Integer", "bases of the window before REF"),
    "CONTEXT": ("A", "Integer", "bases read before the site"),
    "PHASES": ("A", "String", "bases of its token before the first base of REF, on each strand, joined by &"),
    "TRIMMED": ("A", "Integer", "bases left out because they fill no token"),
    "UNKNOWN": ("A", "Integer", "bases inside tokens for unknown ones"),
    "FLAGS": ("A", "String", "what to know of a score, joined by &, see docs/protocols.md"),
    "CODE": (".", "String", "why there is no score, as a code: one for each ALT, or one where there is no ALT"),
    "REASON": (".", "String", "why there is no score, in words, percent-encoded: one for each ALT, or one where there is no ALT"),
}


def header(given: Header, engine: Engine, protocol: Protocol, reference: str) -> str:
    """The given header with our definitions and one line that says where the numbers come from.

    What an earlier run of ours put there is replaced. `reference` is the digest of the sequences.
    """
    own = (f"##INFO=<ID={PREFIX}", _LINE)
    meta = [line for line in given.meta if not line.startswith(own)]
    said = [
        f'##INFO=<ID={PREFIX}{name},Number={number},Type={kind},Description="{about}">'
        for name, (number, kind, about) in FIELDS.items()
    ]
    return "\n".join([*meta, *said, _provenance(engine, protocol, reference), given.names]) + "\n"


def _provenance(engine: Engine, protocol: Protocol, reference: str) -> str:
    """Everything that decides a bit, and nothing that differs between two equal runs: no time and no path."""
    model = engine.deployment.model.translate(str.maketrans('"\\\n', "'/ "))
    facts = {
        "ID": "score",
        "Model": f'"{model}"',
        "Fingerprint": engine.fingerprint,
        "BatchInvariant": str(engine.batch_invariant).lower(),
        "Protocol": protocol.kind,
        "Window": protocol.window,
        "Strand": protocol.strand,
        **({} if protocol.grid is None else {"Grid": protocol.grid}),
        "ReferenceSHA256": reference,
        "Version": VERSION,
    }
    return _LINE + "<" + ",".join(f"{name}={value}" for name, value in facts.items()) + ">"


def annotated(record: Record, verdicts: Sequence[Verdict]) -> str:
    """The line of a record with what was found for each ALT in order, in the place of what an earlier run of ours found."""
    kept = [item for item in record.info.split(";") if item and not item.startswith(PREFIX)]
    found = {name: [_text(verdict.get(name)) for verdict in verdicts] for name in FIELDS}
    ours = [f"{PREFIX}{name}={','.join(values)}" for name, values in found.items() if set(values) != {_MISSING}]
    return record.with_info(";".join([*kept, *ours])) + "\n"


def _text(value: Value) -> str:
    """Shortest digits that give the same double again."""
    if value is None:
        return _MISSING
    if isinstance(value, float | int):
        return repr(value)
    if isinstance(value, str):
        return (value if len(value) <= _LONGEST else f"{value[:_LONGEST]}...").translate(_RESERVED)
    return "&".join(map(str, value)) or _MISSING
