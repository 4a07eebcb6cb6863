"""Model folders as they are published, small: the tokenizer files of GENERator, Carbon, METAGENE-1, GenomeOcean and MarinDNA.

Vocabularies that were learned from large data are learned here from the sequence of the demonstration.
"""

from __future__ import annotations

import gzip
import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = Path(__file__).resolve().parents[3]
_SPECIES = "<mam> <vrt> <inv> <pln> <fng> <prt> <arc> <bct> <mit> <plt> <plm> <vir> <sp0> <sp1> <sp2>"
_GENES = "<bog> <eog> <bok> <eok> <+> <-> <cds> <pseudo> <tRNA> <rRNA> <ncRNA> <miscRNA>"
GENERATOR_NAMES = f"<oov> <s> </s> <pad> <mask> {_GENES} {_SPECIES}".split()
METAGENE_NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[BOS]", "[EOS]", "[MASK]"]
GENOMEOCEAN_NAMES = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]


@cache
def sequence() -> str:
    """Bases of E. coli: of the repository, real, upper-case."""
    with gzip.open(ROOT / "models" / "data" / "ecoli_536.NC_008253.fna.gz", "rt") as lines:
        return "".join(line.strip() for line in itertools.islice(lines, 1, 20_000)).upper()


def words(k: int) -> list[str]:
    """All words of k bases in the order of GENERator and Carbon."""
    return list(map("".join, itertools.product("ATCG", repeat=k)))


def write(folder: Path, **files: Any) -> Path:
    """`config` becomes config.json, `vocab_txt` vocab.txt: JSON unless it is text already."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, content in files.items():
        name = key.replace("_txt", ".txt") if key.endswith("_txt") else f"{key}.json"
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def generator(folder: Path, k: int = 6, *, with_ids: bool = True, **config: Any) -> Path:
    """GENERator: 32 names and all k-mers; the published file has the id behind each token."""
    tokens = [*GENERATOR_NAMES, *words(k)]
    lines = [f"{token} {number}\n" if with_ids else f"{token}\n" for number, token in enumerate(tokens)]
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<oov>", "pad_token": "<pad>"}
    automatic = {"AutoTokenizer": ["tokenizer.DNAKmerTokenizer", None]}
    described = names | {"k": k, "auto_map": automatic, "tokenizer_class": "DNAKmerTokenizer", "padding_side": "right"} | config
    write(folder, vocab_txt="".join(lines), tokenizer_config=described, special_tokens_map=names)
    write(folder, config={"vocab_size": len(tokens), "bos_token_id": 1, "eos_token_id": 2})
    (folder / "tokenizer.py").write_text("raise SystemExit('the code of a folder was run')\n")
    return folder


def carbon(folder: Path, k: int = 6, first: int = 151_669, *, listed: bool = True) -> Path:
    """Carbon: dna_config.json beside the files of an English vocabulary."""
    tokens = ["<dna>", "</dna>", "<oov>", *words(k)]
    described: dict[str, Any] = {"k": k, "dna_start_id": first, "dna_vocab_size": len(tokens), "dna_special_tokens": tokens[:3]}
    if listed:
        described["dna_token_to_id"] = {token: first + index for index, token in enumerate(tokens)}
    write(folder, dna_config=described, vocab={"!": 0, "CCCCCC": 1}, merges_txt="#version: 0.2\n")
    write(folder, tokenizer_config={"tokenizer_class": "HybridDNATokenizer", "eos_token": "<|endoftext|>"})
    (folder / "tokenizer.py").write_text("raise SystemExit('the code of a folder was run')\n")
    return folder


def _learned(names: list[str], size: int) -> Tokenizer:
    found = Tokenizer(models.BPE(unk_token="[UNK]"))
    found.pre_tokenizer = pre_tokenizers.Whitespace()
    found.train_from_iterator(
        (sequence()[start : start + 300] for start in range(0, 300_000, 300)),
        trainers.BpeTrainer(vocab_size=size, special_tokens=names, initial_alphabet=list("ACGNT"), show_progress=False),
    )
    return found


@cache
def _metagene() -> str:
    found = _learned(METAGENE_NAMES, 300)
    found.post_processor = processors.TemplateProcessing(single="[BOS] $A [EOS]", special_tokens=[("[BOS]", 4), ("[EOS]", 5)])
    return json.dumps(json.loads(found.to_str()) | {"added_tokens": []})


def metagene(folder: Path) -> Path:
    """METAGENE-1: BPE whose names stand in the vocabulary, a template with bos and eos, and a stray length."""
    special = {f"{key}_token": f"[{key.upper()}]" for key in ("pad", "unk", "cls", "sep", "bos", "eos", "mask")}
    write(folder, tokenizer=_metagene(), special_tokens_map=special)
    return write(folder, tokenizer_config={"model_max_length": 2048, "tokenizer_class": "PreTrainedTokenizerFast"} | special)


@cache
def _genomeocean() -> str:
    found = _learned(GENOMEOCEAN_NAMES, 400)
    found.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    found.enable_truncation(max_length=64)
    found.enable_padding(pad_id=3, pad_token="[PAD]", direction="left")
    return found.to_str()


def genomeocean(folder: Path) -> Path:
    """GenomeOcean: no token is named bos or eos, the template has [CLS] and [SEP]; truncation and padding were left switched on."""
    special = {f"{key}_token": f"[{key.upper()}]" for key in ("pad", "unk", "cls", "sep", "mask")}
    described = {"padding_side": "left", "tokenizer_class": "PreTrainedTokenizerFast"} | special
    return write(folder, tokenizer=_genomeocean(), special_tokens_map=special, tokenizer_config=described)


def single_letters(letters: str = "acgt", *, width: int = 1) -> Tokenizer:
    """MarinDNA: [PAD], [UNK], [BOS], [EOS], then lower-case letters, or all words of some, read in either case."""
    tokens = ["[PAD]", "[UNK]", "[BOS]", "[EOS]", *map("".join, itertools.product(letters, repeat=width))]
    found = Tokenizer(models.WordLevel({token: number for number, token in enumerate(tokens)}, unk_token="[UNK]"))
    found.normalizer = normalizers.Lowercase()
    found.pre_tokenizer = pre_tokenizers.Split(Regex(f".{{{width}}}"), "isolated")
    found.decoder = decoders.Fuse()
    found.post_processor = processors.TemplateProcessing(single="[BOS] $A [EOS]", special_tokens=[("[BOS]", 2), ("[EOS]", 3)])
    return found


def marindna(folder: Path) -> Path:
    """MarinDNA: 8 ids in a tokenizer.json."""
    special = {f"{key}_token": f"[{key.upper()}]" for key in ("pad", "unk", "bos", "eos")}
    described = {"tokenizer_class": "PreTrainedTokenizerFast"} | special
    return write(folder, tokenizer=single_letters().to_str(), tokenizer_config=described, special_tokens_map=special)
