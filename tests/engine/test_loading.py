"""What a folder must hold, what the engine says of itself, and how instruction sets are pinned."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from engine import isa, selftest
from engine.batch import Batch, RowOutput
from engine.config import EngineConfig
from engine.errors import DeploymentMismatch, ModelRefused
from engine.loading import load
from engine.prefix import PrefixCache
from engine.request import Priority, Score
from engine.runner import Runner
from engine.sequence import Sequence, tokens_of
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.conftest import CONFIG, model
from tests.engine.driving import LIMITS

ROOT = Path(__file__).resolve().parents[2]
SMALL = EngineConfig(blocks=96, self_test=False)
REPORT = """
import sys
from pathlib import Path
from engine import EngineConfig, load
engine = load(Path(sys.argv[1]), config=EngineConfig(blocks=96, isa=sys.argv[2]))
print(engine.batch_invariant, engine.deployment.isa, engine.golden, engine.fingerprint)
"""


def _changed(folder: Path, checkpoint: Path, **changes: object) -> Path:
    shutil.copytree(checkpoint, folder / "model")
    path = folder / "model" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder / "model"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"architectures": ["GPT2LMHeadModel"]}, "GPT2"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "llama3"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "other bits in longer company"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"attention_bias": True}, "q_proj.bias"),
        ({"quantization_config": {"bits": 4}}, "quantized"),
        ({"num_key_value_heads": 3}, "multiple"),
        ({"intermediate_size": 5}, "shape"),
        ({"num_hidden_layers": 9}, "layers.4"),
        ({"vocab_size": 6}, "embed_tokens"),
    ],
)
def test_what_it_cannot_run_exactly_is_refused_in_words(
    tmp_path: Path, checkpoint: Path, changes: dict[str, object], word: str
) -> None:
    with pytest.raises(ModelRefused, match=word):
        load(_changed(tmp_path, checkpoint, **changes), config=SMALL)


@pytest.mark.parametrize("missing", ["config.json", "vocab.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, checkpoint: Path, missing: str) -> None:
    folder = _changed(tmp_path, checkpoint)
    (folder / missing).unlink()
    with pytest.raises(ModelRefused, match=missing):
        load(folder, config=SMALL)


def test_pickled_weights_are_not_read(tmp_path: Path, checkpoint: Path) -> None:
    folder = _changed(tmp_path, checkpoint)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelRefused, match="other formats are not read"):
        load(folder, config=SMALL)


def test_a_torn_weight_file_is_refused(tmp_path: Path, checkpoint: Path) -> None:
    folder = _changed(tmp_path, checkpoint)
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelRefused, match="cannot be read"):
        load(folder, config=SMALL)


def test_an_index_may_not_leave_the_folder(tmp_path: Path, checkpoint: Path) -> None:
    folder = _changed(tmp_path, checkpoint)
    index = {"weight_map": {"model.norm.weight": "../outside.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "model.safetensors").rename(tmp_path / "outside.safetensors")
    with pytest.raises(ModelRefused, match="outside the folder"):
        load(folder, config=SMALL)


def test_a_tokenizer_of_another_vocabulary_is_refused(tmp_path: Path, checkpoint: Path) -> None:
    """A smaller one leaves ids that no sequence has; a larger one would be read past the end of the embedding."""
    folder = _changed(tmp_path, checkpoint)
    (folder / "vocab.json").write_text(json.dumps({"bos": 1, "A": 3, "C": 4, "G": 5, "T": 6}))
    assert load(folder, config=SMALL).tokenizer.size == 7
    (folder / "vocab.json").write_text(json.dumps({"bos": 1, "A": 3, "C": 4, "G": 5, "T": 11}))
    with pytest.raises(ModelRefused, match="the tokenizer has ids up to 11 and the model a vocabulary of 11"):
        load(folder, config=SMALL)


def test_the_fingerprint_is_stable_and_changes_with_weights_and_threads(tmp_path: Path, checkpoint: Path) -> None:
    base = load(checkpoint, config=SMALL)
    again = load(checkpoint, config=SMALL)
    other = load(write_checkpoint(tmp_path / "other", Shape(seed=9)), config=SMALL)
    one_thread = load(checkpoint, config=dataclasses.replace(SMALL, threads=1))
    assert base.fingerprint == again.fingerprint
    assert len({base.fingerprint, other.fingerprint, one_thread.fingerprint}) == 3
    assert base.deployment.as_dict()["fingerprint"] == base.fingerprint


def test_an_engine_proves_itself_and_says_so_on_every_outcome(checkpoint: Path) -> None:
    engine = load(checkpoint, config=EngineConfig(blocks=96))
    engine.submit(1, Score((1, 3, 4)), Priority.STAT)
    engine.submit(2, Score((1,)), Priority.STAT)
    outcomes = engine.step()
    assert {outcome.state for outcome in outcomes} == {"finished", "failed"}
    assert {(outcome.fingerprint, outcome.batch_invariant) for outcome in outcomes} == {(engine.fingerprint, True)}


@pytest.mark.parametrize(
    "shape",
    [Shape(head_norms=True), Shape(window=40), Shape(biases="qkv", window=40, whole_layers=2), Shape(biases="all")],
    ids=["Qwen3", "Mistral", "Qwen2", "Llama with biases"],
)
def test_an_engine_of_another_family_proves_itself(tmp_path: Path, shape: Shape) -> None:
    assert load(write_checkpoint(tmp_path, shape), config=EngineConfig(blocks=96)).batch_invariant


def test_without_its_self_test_no_engine_claims_batch_invariance(checkpoint: Path) -> None:
    assert not load(checkpoint, config=SMALL).batch_invariant


def test_what_giving_way_costs_is_measured_at_start_or_with_the_first_step(checkpoint: Path) -> None:
    proven, not_proven = (load(checkpoint, config=dataclasses.replace(SMALL, self_test=proves)) for proves in (True, False))
    stats = proven.stats()
    assert stats["swap_copies_measured"] > 0
    assert stats["swap_steps_measured"] > 10
    assert stats["swap_bandwidth"] != SMALL.swap_bandwidth
    assert stats["recompute_rate"] != SMALL.recompute_rate
    stats = not_proven.stats()
    assert (stats["swap_bandwidth"], stats["recompute_rate"]) == (SMALL.swap_bandwidth, SMALL.recompute_rate)
    not_proven.submit(1, Score((1,) * 50), Priority.ROUTINE)
    not_proven.step()
    assert not_proven.stats()["swap_steps_measured"] == 1
    assert not_proven.stats()["recompute_rate"] != SMALL.recompute_rate


def test_the_self_test_finds_a_runner_whose_bits_depend_on_the_batch(runner: Runner) -> None:
    class Dependent:
        def run(self, batch: Batch) -> list[RowOutput] | None:
            outputs = runner.run(batch)
            noise = len(batch.rows) * 1e-7
            return outputs and [
                dataclasses.replace(output, logprobs=tuple(value + noise for value in output.logprobs)) for output in outputs
            ]

    assert selftest.run(runner, CONFIG, LIMITS)[0]
    assert not selftest.run(Dependent(), CONFIG, LIMITS)[0]


def test_the_self_test_finds_a_pass_that_does_not_go_on_exactly(runner: Runner) -> None:
    class Inexact:
        def run(self, batch: Batch) -> list[RowOutput] | None:
            outputs = runner.run(batch)
            if outputs is None:
                runner._kept[-1].hidden = runner._kept[-1].hidden * 1.001
            return outputs

    assert not selftest.run(Inexact(), CONFIG, LIMITS)[0]


@pytest.fixture(scope="module")
def sliding(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A window longer than what the self-test mixes for every model."""
    return Runner(model(write_checkpoint(tmp_path_factory.mktemp("sliding"), Shape(window=220)), "native"), CONFIG)


def test_the_self_test_finds_what_only_shows_beyond_a_sliding_window(sliding: Runner) -> None:
    class Confused:
        def run(self, batch: Batch) -> list[RowOutput] | None:
            outputs = sliding.run(batch)
            for row, output in zip(batch.rows, outputs or (), strict=bool(outputs)):
                if row.first > 0 and output.logprobs:
                    output.logprobs = [value + 1e-6 for value in output.logprobs]
            return outputs

    limits = dataclasses.replace(LIMITS, window=220, layers=4)
    right, golden = selftest.run(sliding, CONFIG, limits)
    assert (right, selftest.run(Confused(), CONFIG, limits)) == (True, (False, golden))


@pytest.mark.parametrize(
    ("window", "capacity", "count"), [(None, 9999, 0), (220, 9999, 3), (220, 1400, 0), (400, 9999, 0), (1, 600, 3)]
)
def test_the_self_test_reaches_beyond_a_window_where_context_and_pool_hold_it(
    window: int | None, capacity: int, count: int
) -> None:
    found = selftest.beyond(dataclasses.replace(LIMITS, window=window), capacity)
    assert len(found) == count
    assert all(window < len(tokens_of(request)) <= LIMITS.context for request in found)


def test_the_self_test_finds_scores_that_an_earlier_request_left_wrong(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoilt(self: PrefixCache, key: bytes, tokens: list[int], block: int, scores: array[float] | None, since: float) -> bytes:
        return add(self, key, tokens, block, scores and array("f", [score - 1e-3 for score in scores]), since)

    add = PrefixCache.add
    monkeypatch.setattr(PrefixCache, "add", spoilt)
    assert not selftest.run(runner, CONFIG, LIMITS)[0]


def test_the_self_test_finds_one_that_comes_back_to_blocks_of_another_order(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shuffled(self: PrefixCache, sequence: Sequence) -> None:
        sequence.blocks.reverse()
        leave(self, sequence)

    leave = PrefixCache.leave_own
    monkeypatch.setattr(PrefixCache, "leave_own", shuffled)
    assert not selftest.run(runner, CONFIG, LIMITS)[0]


def test_other_golden_bits_than_the_pinned_are_refused(checkpoint: Path) -> None:
    golden = load(checkpoint, config=EngineConfig(blocks=96)).golden
    assert load(checkpoint, config=EngineConfig(blocks=96, expected_golden=golden)).golden == golden
    with pytest.raises(DeploymentMismatch, match="golden"):
        load(checkpoint, config=EngineConfig(blocks=96, expected_golden="0" * 64))


def test_a_pin_that_came_too_late_or_cannot_be_had_is_refused() -> None:
    isa.verify("auto", "avx2")
    isa.verify("avx2", "avx2")
    with pytest.raises(DeploymentMismatch, match="pinned to avx512"):
        isa.verify("avx512", "avx2")


@pytest.mark.parametrize("library", [None, "AUTO"], ids=["reproducible mode", "library as it comes"])
def test_avx2_can_be_pinned_and_keeps_the_contract(checkpoint: Path, library: str | None) -> None:
    """Also with the library's own choice of loops, where most row counts are unsafe and the probe must find the others."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MKL_", "ATEN_"))}
    environment |= {"MKL_CBWR": library} if library else {}
    command = [sys.executable, "-c", REPORT, str(checkpoint), "avx2"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split()[:2] == ["True", "avx2"]


def test_importing_the_engine_imports_neither_torch_nor_django() -> None:
    code = "import engine, engine.loop, sys; print([m for m in ('torch', 'django', 'celery', 'redis') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
