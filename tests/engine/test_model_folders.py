"""Folders that cannot be served, or only seem to hold a model: one sentence each, before anything of their size is made."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from engine.errors import ModelRefused
from engine.model import Model
from engine.model_config import ModelConfig, read_config
from engine.weights import Weights, shapes, weight_files
from kernels import frequencies
from tests.engine import published
from tests.engine.checkpoints import Shape, config, tensors, write_checkpoint, write_weights

SHARDED = Shape(shards=3, seed=8)
INDEX = "model.safetensors.index.json"
YARN = {"rope_type": "yarn", "factor": 4.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def refusal(folder: Path) -> str:
    """What is said of a folder."""
    with pytest.raises(ModelRefused) as refused:
        Model(folder, 16)
    return str(refused.value)


def configured(folder: Path, raw: dict[str, object]) -> ModelConfig:
    (folder / "config.json").write_text(json.dumps(raw))
    return read_config(folder)


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "model", SHARDED)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("StripedHyenaModelForCausalLM", "stripedhyena", "long convolutions with attention"),
        ("Evo2ForCausalLM", None, "long convolutions with attention"),
        ("HyenaDNAForCausalLM", "hyenadna", "no attention"),
        ("MambaForCausalLM", "mamba", "state-space"),
        ("CaduceusForMaskedLM", "caduceus", "both strands"),
        ("BertForMaskedLM", "bert", "from both sides"),
        ("EsmForMaskedLM", "esm", "from both sides"),
        ("DNABertModel", None, "from both sides"),
        ("NucleotideTransformerForMaskedLM", None, "from both sides"),
        ("Enformer", "enformer", "no next token"),
        ("MixtralForCausalLM", "mixtral", "many experts"),
        ("Qwen3MoeForCausalLM", "qwen3_moe", "many experts"),
        ("T5ForConditionalGeneration", "t5", "encoder with a decoder"),
        ("BartForConditionalGeneration", "bart", "encoder with a decoder"),
        ("LlamaForSequenceClassification", "llama", "another question"),
        ("GPTNeoXForCausalLM", "gpt_neox", "its block differs"),
        ("Qwen2VLForConditionalGeneration", "qwen2_vl", "another model"),
        ("Qwen2AudioForConditionalGeneration", "qwen2_audio", "another model"),
        ("Qwen2MoeForCausalLM", "qwen2_moe", "many experts"),
        ("Qwen3NextForCausalLM", "qwen3_next", "another model"),
        ("SomethingForCausalLM", None, "runs LlamaForCausalLM and MistralForCausalLM and Qwen2ForCausalLM and Qwen3"),
        ("LlamaForCausalLM", "mistral", "config.json names LlamaForCausalLM, mistral"),
        ("GENERatorForCausalLM", None, "GENERatorForCausalLM is read as LlamaForCausalLM where"),
        ("GENERatorForCausalLM", "generator", "config.json names GENERatorForCausalLM, generator"),
        ("GENERatorForCausalLM", "mistral", "config.json names GENERatorForCausalLM, mistral"),
    ],
)
def test_a_family_that_is_not_served_is_told_why(tmp_path: Path, name: str, kind: str | None, words: str) -> None:
    raw = config(Shape()) | {"architectures": [name], "model_type": kind}
    with pytest.raises(ModelRefused, match=words):
        configured(tmp_path, raw)


def test_generator_by_its_own_name_is_the_llama_that_its_config_says_it_is(tmp_path: Path) -> None:
    """Numbers of `published.GENERATOR` are compared with transformers; under the other name they are the same numbers."""
    own = published.with_config(published.GENERATOR, architectures=["GENERatorForCausalLM"])
    said, named = (read_config(one.write(tmp_path)) for one in (published.GENERATOR, own))
    assert said == named


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"attention_bias": "yes"}, "attention_bias must be true or false"),
        ({"architectures": ["GENERatorForCausalLM"], "auto_map": {"AutoModelForCausalLM": "m.G"}}, "no code of a folder"),
        ({"auto_map": {"AutoModelForCausalLM": "modeling.Other"}}, "no code of a folder is ever run"),
        ({"num_hidden_layers": 1 << 13}, "num_hidden_layers must be a whole number between 1 and 4096"),
        ({"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2.0}}, "two kinds, 'linear' and 'yarn'"),
        ({"auto_map": {"AutoTokenizer": ["t.T", None], "AutoConfig": "c.C"}}, "no code of a folder is ever run"),
        ({"mlp_bias": True}, "and none to the MLP"),
        ({"compression_config": {"format": "int"}}, "quantized"),
        ({"partial_rotary_factor": 0.5}, "only a part of each head"),
        ({"sliding_window": 64}, "has no sliding window"),
        ({"rope_parameters": {"rope_theta": 5e5}}, "two values of rope_theta"),
        ({"rope_parameters": {"rope_type": "linear", "factor": 2.0}, "rope_scaling": YARN}, "say different things"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1.0}}}, "differ from layer to layer"),
        ({"rope_scaling": {"rope_type": "longrope", "factor": 4.0}}, "other bits in longer company"),
        ({"rope_scaling": {"rope_type": "spiral"}}, "not known here"),
        ({"rope_scaling": {"rope_type": []}}, "no name"),
        ({"rope_scaling": {"rope_type": "linear"}}, "no factor"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 0.5}}, "from 1 to"),
        ({"rope_scaling": YARN | {"beta_fast": 1, "beta_slow": 2}}, "beta_fast must be above"),
        ({"rope_scaling": YARN | {"attention_factor": -1}}, "attention_factor must be"),
        ({"rope_scaling": YARN | {"original_max_position_embeddings": 0}}, "original_max_position_embeddings must be"),
        ({"rope_scaling": YARN | {"truncate": "no"}}, "truncate must be"),
        ({"rope_scaling": LLAMA3 | {"high_freq_factor": 1.0}}, "high_freq_factor must be above"),
    ],
)
def test_settings_that_are_not_served_are_told_why(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(ModelRefused, match=words):
        configured(tmp_path, config(Shape()) | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"layer_types": ["full_attention"] * 3}, "layer_types must be a list of 4"),
        ({"layer_types": ["sliding_attention"] * 4, "use_sliding_window": False}, "no window to slide"),
        ({"max_window_layers": None}, "max_window_layers must be"),
    ],
)
def test_windows_of_qwen3_that_are_not_served_are_told_why(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(ModelRefused, match=words):
        configured(tmp_path, published.QWEN3_WINDOW.config | changes)


@pytest.mark.parametrize(
    ("base", "changes", "window"),
    [
        (published.QWEN3_WINDOW, {}, 40),
        (published.QWEN3_WINDOW, {"use_sliding_window": False}, None),
        (published.QWEN3_WINDOW, {"max_window_layers": 4}, None),
        (published.QWEN3_WINDOW, {"max_window_layers": 2, "sliding_window": 255}, None),  # no position loses one
        (published.QWEN3_WINDOW, {"layer_types": ["sliding_attention"] * 4}, 40),
        (published.QWEN3_WINDOW, {"max_window_layers": 2}, (None, None, 40, 40)),
        (published.QWEN3_SOME_WINDOWS, {}, (40, None, 40, None)),
        (published.QWEN2, {}, (None, None, None, 40)),
        (published.GENOME_OCEAN, {}, 48),
        (published.GENOME_OCEAN, {"sliding_window": None}, None),
        (published.GENOME_OCEAN, {"sliding_window": 10240}, None),
    ],
)
def test_a_window_is_what_the_family_makes_of_its_keys(
    tmp_path: Path, base: published.Published, changes: dict[str, object], window: int | tuple[int | None, ...] | None
) -> None:
    """Where some layers see all, no block may be given back, as if there were no window."""
    found = configured(tmp_path, base.config | changes)
    assert found.windows == (window if isinstance(window, tuple) else (window,) * 4)
    assert found.window == (None if isinstance(window, tuple) else window)


def test_biases_are_where_the_family_has_them(tmp_path: Path) -> None:
    said = [published.QWEN2, published.LLAMA_BIASED, published.METAGENE, published.MARIN_DNA, published.GENOME_OCEAN]
    found = [configured(tmp_path, one.config) for one in said]
    assert [(one.qkv_bias, one.output_bias) for one in found] == [(True, False), (True, True), *[(False, False)] * 3]
    with pytest.raises(ModelRefused, match="models of this architecture have no biases"):
        configured(tmp_path, published.GENOME_OCEAN.config | {"attention_bias": True})


@pytest.mark.parametrize("which", ["q_proj", "o_proj"])
def test_a_bias_that_config_json_and_weights_do_not_agree_on_is_refused(tmp_path: Path, which: str) -> None:
    """One that is missing, and one too many."""
    name, biased = f"model.layers.1.self_attn.{which}.bias", Shape(biases="all")
    for shape, found in (
        (biased, {key: tensor for key, tensor in tensors(biased).items() if key != name}),
        (Shape(), tensors(Shape()) | {name: tensors(biased)[name]}),
    ):
        folder = write_checkpoint(tmp_path, shape)
        write_weights(folder, found)
        with pytest.raises(ModelRefused, match=name.replace(".", r"\.")):
            Weights(folder).expect(shapes(read_config(folder)), tied=False)


def test_keys_left_out_mean_what_they_mean_to_the_family(tmp_path: Path) -> None:
    """Mistral without sliding_window has one of 4096, and Qwen3 without head_dim heads of 128: not what a Llama would have."""
    wide = {"num_attention_heads": 32, "hidden_size": 128}
    left_out = ("sliding_window", "num_key_value_heads", "head_dim", "rms_norm_eps")
    mistral, qwen3, llama = (
        configured(tmp_path, {key: value for key, value in one.config.items() if key not in left_out} | wide)
        for one in (published.GENOME_OCEAN, published.MARIN_DNA, published.METAGENE)
    )
    assert (mistral.window, mistral.kv_heads, mistral.head_dim, mistral.eps) == (4096, 8, 128 // 32, 1e-6)
    assert (qwen3.window, qwen3.kv_heads, qwen3.head_dim) == (None, 32, 128)
    assert (llama.window, llama.kv_heads, llama.head_dim) == (None, 32, 128 // 32)


def test_both_spellings_of_the_rotary_settings_mean_the_same(tmp_path: Path) -> None:
    raw = {key: value for key, value in config(Shape()).items() if key != "rope_theta"}
    old = configured(tmp_path, raw | {"rope_theta": 5e5, "rope_scaling": YARN | {"type": "yarn"}})
    new = configured(tmp_path, raw | {"rope_parameters": YARN | {"rope_theta": 5e5}})
    assert old.frequencies == new.frequencies == frequencies.Yarn(5e5, 4.0, 512, frequencies.yarn_magnitude(4.0))


def _two_shards(folder: Path) -> None:
    first, second = weight_files(folder)[:2]
    save_file(load_file(second) | {"model.norm.weight": torch.ones(80)}, second)
    save_file(load_file(first) | {"model.norm.weight": torch.ones(80)}, first)


def _wrong_place(folder: Path) -> None:
    index = json.loads((folder / INDEX).read_text())
    last = index["weight_map"]["model.norm.weight"]
    index["weight_map"]["model.norm.weight"] = next(name for name in index["weight_map"].values() if name != last)
    (folder / INDEX).write_text(json.dumps(index))


def _linked_out(folder: Path) -> None:
    shard = weight_files(folder)[0]
    shard.rename(folder.parent / "blob")
    shard.symlink_to(folder.parent / "blob")


def _named(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / INDEX).write_text(json.dumps({"weight_map": {"model.norm.weight": name}})) and None


@pytest.mark.parametrize(
    ("breaking", "words"),
    [
        (lambda folder: weight_files(folder)[1].unlink(), "names model-00002-of-00003.safetensors, which is missing"),
        (_two_shards, "model.norm.weight lies in two files"),
        (_wrong_place, "and it does not"),
        (_linked_out, "is a link out of the folder"),
        (_named("/etc/passwd.safetensors"), "which lies outside the folder"),
        (_named("pytorch_model.bin"), "no weight_map of tensors and safetensors files"),
        (lambda folder: shutil.copy(weight_files(folder)[0], folder / "model.safetensors"), "which of them is the model"),
    ],
    ids=["missing", "twice", "elsewhere", "link", "absolute", "pickle", "both"],
)
def test_shards_that_do_not_fit_together_are_refused(sharded: Path, breaking: Callable[[Path], object], words: str) -> None:
    breaking(sharded)
    assert words in refusal(sharded)


def test_a_pickle_is_never_opened_and_the_way_out_is_named(tmp_path: Path, sharded: Path) -> None:
    for path in weight_files(sharded):
        path.rename(sharded / "pytorch_model.bin")
    (sharded / INDEX).unlink()
    assert "call save_pretrained, which writes safetensors" in refusal(sharded)


def test_an_adapter_alone_is_no_model(sharded: Path) -> None:
    (sharded / INDEX).unlink()
    (sharded / "adapter_config.json").write_text("{}")
    assert "holds an adapter and not the model" in refusal(sharded)


def _changed(change: Callable[[dict[str, Tensor]], object]) -> Callable[[Path], None]:
    def changing(folder: Path) -> None:
        found = load_file(folder / "model.safetensors")
        change(found)
        save_file(found, folder / "model.safetensors")

    return changing


@pytest.mark.parametrize(
    ("shape", "change", "words"),
    [
        (Shape(), lambda w: w.update({"model.layers.0.self_attn.q_proj.lora_A.weight": torch.ones(4, 80)}), "hold 1 tensors"),
        (Shape(), lambda w: w.update({"model.layers.0.self_attn.q_norm.weight": torch.ones(24)}), "does not have"),
        (Shape(head_norms=True), lambda w: w.pop("model.layers.3.self_attn.k_norm.weight"), "no model.layers.3.self_attn.k_norm"),
        (Shape(head_norms=True), lambda w: w.update({"model.layers.1.self_attn.q_norm.weight": torch.ones(96)}), "shape"),
        (Shape(tied=True), lambda w: w.update({"lm_head.weight": torch.ones(11, 80)}), "with other numbers"),
        (Shape(), lambda w: w.update({"lm_head.weight": w["lm_head.weight"].to(torch.float8_e4m3fn)}), "is it quantized"),
    ],
    ids=["LoRA", "norm of another family", "no norm", "norm of all heads", "tied and untied", "eight bits"],
)
def test_tensors_that_are_not_those_of_the_model_are_refused(
    tmp_path: Path, shape: Shape, change: Callable[[dict[str, Tensor]], object], words: str
) -> None:
    folder = write_checkpoint(tmp_path, shape)
    _changed(change)(folder)
    assert words in refusal(folder)


def test_what_old_checkpoints_leave_over_and_a_copy_of_the_tied_head_change_nothing(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, Shape(tied=True))
    leftover = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(12)}
    _changed(lambda w: w.update(leftover | {"lm_head.weight": w["model.embed_tokens.weight"].clone()}))(folder)
    assert Model(folder, 16).layers == 4


def test_absurd_sizes_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    """Thousands of layers of a million columns, claimed by a folder of a megabyte."""
    folder = write_checkpoint(tmp_path, Shape())
    raw = config(Shape()) | {"num_hidden_layers": 1 << 12, "intermediate_size": 1 << 20, "max_position_embeddings": 1 << 24}
    (folder / "config.json").write_text(json.dumps(raw))
    tracemalloc.start()
    assert "has shape" in refusal(folder)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_only_the_tensor_that_is_taken_is_in_memory(sharded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is read once, and none before the headers have been compared."""
    read: list[str] = []
    take = Weights.take
    monkeypatch.setattr(Weights, "take", lambda weights, name: read.append(name) or take(weights, name))
    Model(sharded, 16)
    assert sorted(read) == sorted(name for name, _ in shapes(read_config(sharded)))
