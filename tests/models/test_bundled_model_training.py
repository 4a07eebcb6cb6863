"""A training run is what its recipe says, and one that was stopped goes on as if it had not been."""

import json

import pytest
import torch

from models.training import train
from models.training.genome import TRAINING_END, read_genome
from models.training.network import Llama, LlamaConfig
from models.training.orfs import training_coding, training_spans
from models.training.recipe import LONG, STEP_TOKENS, Recipe
from models.training.windows import WindowSampler

TINY = LlamaConfig(hidden_size=16, num_hidden_layers=1, head_dim=8, num_attention_heads=2, num_key_value_heads=1, sliding_window=64)
STEPS = 5


@pytest.fixture(scope="module")
def genome():
    return read_genome()


@pytest.fixture
def new_run(genome):
    def begin():
        torch.manual_seed(0)
        network = Llama(TINY)
        network.initialise()
        return train.Run.begin(Recipe(tokens=STEPS * STEP_TOKENS, warmup_tokens=STEP_TOKENS), network, genome)

    return begin


def weights(run):
    return torch.cat([weight.detach().flatten() for weight in run.network.parameters()])


def test_a_resumed_run_ends_with_the_weights_of_one_that_was_never_stopped(new_run, tmp_path):
    whole, stopped, resumed = new_run(), new_run(), new_run()
    for _ in train.steps(whole):
        pass
    for _ in zip(range(2), train.steps(stopped), strict=False):
        pass
    stopped.save(tmp_path)
    resumed.restore(tmp_path)
    for _ in train.steps(resumed):
        pass
    assert resumed.done == whole.done == STEPS * STEP_TOKENS
    assert torch.equal(weights(resumed), weights(whole))


def test_training_lowers_the_bits_per_base(new_run):
    run = new_run()
    bits = [sum(step) for step in train.steps(run)]
    assert bits[-1] < bits[0]


def test_a_run_writes_what_it_did(new_run, tmp_path):
    train.train(new_run(), tmp_path, None)
    record = json.loads((tmp_path / "training.json").read_text())
    assert record["tokens"] == record["recipe"]["tokens"] == STEPS * STEP_TOKENS
    assert {"model.safetensors", "config.json", "vocab.json"} < {path.name for path in tmp_path.iterdir()}


def test_the_rate_rises_stays_and_falls_to_nothing():
    recipe = Recipe(tokens=100 * STEP_TOKENS, warmup_tokens=10 * STEP_TOKENS)
    rates = [recipe.rate(step * STEP_TOKENS) for step in range(101)]
    assert rates[0] == pytest.approx(recipe.peak_rate / 10)
    assert rates[9:41] == [recipe.peak_rate] * 32
    assert rates[70] == pytest.approx(recipe.peak_rate / 2)
    assert rates[100] == 0.0


@pytest.mark.parametrize("share_done", [0.0, 0.5, 0.9])
def test_a_step_reads_its_tokens_in_two_equal_halves_none_of_them_held_out(genome, share_done):
    recipe = Recipe(tokens=1_000_000)
    halves = recipe.halves(WindowSampler(genome, seed=0), int(share_done * recipe.tokens))
    assert [sum(window.end - window.start + 1 for group in half for window in group) for half in halves] == [STEP_TOKENS // 2] * 2
    assert max(window.end for half in halves for group in half for window in group) <= TRAINING_END


def test_windows_are_drawn_from_where_they_say(genome):
    sampler = WindowSampler(genome, seed=0)
    for windows, spans in (
        (sampler.inside_frames(200, 512), training_spans(genome)),
        (sampler.inside_coding(200, LONG), training_coding(genome)),
    ):
        assert all(any(_within(window, span) for span in spans) for window in windows)
    assert {window.strand for window in sampler.anywhere(200, LONG)} == {"+", "-"}


def _within(window, span):
    return window.strand == span.strand and span.start <= window.start and window.end <= span.end


def test_the_coding_part_of_a_frame_ends_before_its_stop_codon(genome):
    spans = training_coding(genome)
    codons = [tuple(span.sense(genome)[-3:]) for span in spans]
    after = [tuple(span.sense(genome)[:3]) for span in spans]
    stops = {(3, 0, 0), (3, 0, 2), (3, 2, 0)}
    assert not stops & set(codons)
    assert set(after) == {(0, 3, 2), (2, 3, 2)}
