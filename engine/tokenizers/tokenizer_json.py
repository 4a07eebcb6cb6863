"""`tokenizer.json`: byte pairs (METAGENE-1, GenomeOcean), single characters (MarinDNA) or words, checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import ModelRefused
from engine.tokenizers import files, hybrid, letters, naming, templates, text_steps
from engine.tokenizers.byte_pairs import BytePairTokenizer, Cut, Merges
from engine.tokenizers.interface import Tokenizer
from engine.tokenizers.words import of_words

FILE = "tokenizer.json"
Added = list[tuple[str, int, bool]]  # content, id, special


def from_folder(folder: Path) -> Tokenizer:
    """Read `tokenizer.json` and the names beside it.

    What the file puts before a sequence stands there; where that is nothing, bos does if tokenizer_config.json says
    `add_bos_token`. What it puts behind one is never added: a score is that of the bases alone, and a prompt goes on.
    """
    raw = files.json_object(folder, FILE)
    model, symbols = _model(raw)
    added = _added(raw)
    known = naming.with_added(folder, _joined(symbols, added))
    if hybrid.OPEN in known:
        return hybrid.from_symbols(known, FILE)
    hybrid.refuse_without(folder)
    front, behind = templates.around(raw.get("post_processor"), known, FILE)
    names = naming.read(folder, known)
    if not front and names.adds_bos and names.bos is not None:
        front = (names.bos,)
    eos = naming.end(folder, names.eos, behind, known)
    unk_token = _unk_token(model, symbols)
    lower = text_steps.lowers(raw.get("normalizer"), FILE) or not any(map(letters.is_bases, symbols))
    if _is_words(model, symbols):
        read = _upper(symbols, lower)
        return of_words(read, FILE, before=front, eos=eos, unknown=symbols.get(unk_token or ""))
    merges = _merges(model.get("merges"), symbols)
    symbols |= _single(added, symbols, merges)
    ids = {*front, *behind, names.bos, names.eos, names.unknown, eos} | {number for _, number, special in added if special}
    special = frozenset(symbol for symbol, number in symbols.items() if number in ids or symbol == unk_token)
    cut = _cut(model, unk_token, raw.get("pre_tokenizer"), lower)
    return BytePairTokenizer(symbols, merges, cut, before=front, eos=eos, names=special)


def _model(raw: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    model = raw.get("model")
    if not isinstance(model, dict):
        raise ModelRefused(f"{FILE} has no model")
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind not in ("BPE", "WordLevel"):
        raise ModelRefused(f"{FILE} holds a model of the kind {str(kind)[:40]!r}, and only BPE and WordLevel are read")
    return model, files.vocabulary(model.get("vocab"), FILE)


def _is_words(model: Mapping[str, Any], symbols: Mapping[str, int]) -> bool:
    """Whether nothing is ever merged: a WordLevel model, or a BPE of single characters."""
    return model.get("type") == "WordLevel" or not (
        model.get("merges") or any(len(symbol) > 1 and letters.bases_of(symbol) for symbol in symbols)
    )


def _added(raw: Mapping[str, Any]) -> Added:
    found = raw.get("added_tokens") or []
    if not isinstance(found, list) or not all(isinstance(token, dict) and isinstance(token.get("content"), str) for token in found):
        raise ModelRefused(f"added_tokens of {FILE} are no list of tokens")
    return [(token["content"], token.get("id", -1), token.get("special") is True) for token in found]


def _joined(symbols: Mapping[str, int], added: Added) -> dict[str, int]:
    found = dict(symbols)
    for content, number, _ in added:
        if found.setdefault(content, number) != number:
            raise ModelRefused(f"{FILE} gives {content[:40]!r} two ids, {found[content]} and {str(number)[:40]}")
    return files.vocabulary(found, FILE)


def _single(added: Added, symbols: Mapping[str, int], merges: Merges) -> dict[str, int]:
    """Added tokens of one letter, as symbols that nothing merges with.

    A special token is never read out of a sequence. Longer ones that are not special would be, before any merge: refused.
    """
    merged = {symbol for pair in merges for symbol in pair}
    found = {content: number for content, number, special in added if not special and letters.bases_of(content)}
    if other := next((content for content in found if len(content) > 1 or content in merged), None):
        raise ModelRefused(f"{FILE} adds the token {other[:40]!r}, which would cut sequences before its merges do")
    return found


def _upper(symbols: Mapping[str, int], lower: bool) -> dict[str, int]:
    """Symbols as upper-case text finds them; of a vocabulary of both cases, those of the case it is read in. Names stay."""
    case = letters.lower if lower else letters.upper
    named = {symbol: number for symbol, number in symbols.items() if not letters.bases_of(symbol)}
    return named | {
        letters.upper(symbol): number for symbol, number in symbols.items() if case(symbol) == symbol and symbol not in named
    }


def _unk_token(model: Mapping[str, Any], symbols: Mapping[str, int]) -> str | None:
    """What stands for "unknown". A WordLevel model names a token by default, whether its vocabulary has it or not."""
    found = model.get("unk_token")
    if found is None or (isinstance(found, str) and (found in symbols or model.get("type") == "WordLevel")):
        return found if found in symbols else None
    raise ModelRefused(f"unk_token of {FILE} is {str(found)[:40]!r}, which its vocabulary does not hold")


def _cut(model: Mapping[str, Any], unk_token: str | None, pre_tokenizer: Any, lower: bool) -> Cut:
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            raise ModelRefused(f"{key} of {FILE} is not supported")
    flags = {key: model.get(key) or False for key in ("fuse_unk", "byte_fallback", "ignore_merges")}
    if not all(isinstance(flag, bool) for flag in flags.values()):
        raise ModelRefused(f"{', '.join(flags)} of {FILE} must be true or false")
    levels = text_steps.byte_levels(pre_tokenizer, FILE)
    space = any(step.get("add_prefix_space", True) is True for step in levels)
    return Cut(unk_token, **flags, lower=lower, byte_level=bool(levels), add_prefix_space=space)


def _merges(found: Any, symbols: Mapping[str, int]) -> Merges:
    """Pairs of symbols, in the order of their rank; written as a text with a space between them, or as a list of two."""
    if not isinstance(found, list):
        raise ModelRefused(f"merges of {FILE} are no list")
    merges: list[tuple[str, str]] = []
    for merge in found:
        match merge.split(" ") if isinstance(merge, str) else merge:
            case [str(left), str(right)] if left in symbols and right in symbols and left + right in symbols:
                merges.append((left, right))
            case _:
                raise ModelRefused(f"{FILE} merges {str(merge)[:40]!r}: no two symbols of its vocabulary that make a third")
    return merges
