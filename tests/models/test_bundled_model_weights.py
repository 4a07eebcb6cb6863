"""The shipped files are intact and mean the same to our network and to Hugging Face's."""

import json

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM, MistralForCausalLM

from models.training import network
from models.training.card import FOLDER
from models.training.evaluate import file_hash
from models.training.genome import LETTERS
from models.training.scoring import as_tokens


@pytest.mark.parametrize("length", [1, 37, 512, 2048])
def test_logits_equal_those_of_transformers(length):
    theirs = MistralForCausalLM.from_pretrained(FOLDER, dtype=torch.float32).eval()
    tokens = torch.randint(0, 8, (2, length), generator=torch.Generator().manual_seed(length))
    with torch.inference_mode():
        difference = (network.load(FOLDER)(tokens) - theirs(tokens).logits).abs().max()
    assert difference < 1e-4


def test_shipped_files_have_their_recorded_checksums():
    recorded = [line.split() for line in (FOLDER / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in recorded} == {"config.json", "model.safetensors", "vocab.json"}
    assert all(file_hash(FOLDER / name) == checksum for checksum, name in recorded)


def test_the_vocabulary_is_the_one_our_tokens_assume():
    vocabulary = json.loads((FOLDER / "vocab.json").read_text())
    assert vocabulary == network.VOCABULARY
    assert [vocabulary[letter] - network.FIRST_BASE for letter in LETTERS + "N"] == [0, 1, 2, 3, 4]


def test_a_window_is_preceded_by_bos_and_predicts_each_of_its_bases():
    inputs, targets = as_tokens(np.array([[0, 1, 2, 3]], np.uint8))
    assert inputs.tolist() == [[1, 3, 4, 5]]
    assert targets.tolist() == [[3, 4, 5, 6]]


@pytest.mark.parametrize(("window", "architecture"), [(None, LlamaForCausalLM), (2, MistralForCausalLM)])
def test_a_saved_network_loads_with_equal_weights_here_and_in_transformers(tmp_path, window, architecture):
    torch.manual_seed(0)
    config = network.LlamaConfig(hidden_size=32, num_hidden_layers=2, head_dim=8, intermediate_size=40, sliding_window=window)
    small = network.Llama(config)
    small.initialise()
    network.save(small, tmp_path)
    tokens = torch.tensor([[1, 3, 4, 5, 6]])
    with torch.inference_mode():
        expected = small(tokens)
        assert torch.equal(network.load(tmp_path)(tokens), expected)
        assert torch.allclose(architecture.from_pretrained(tmp_path)(tokens).logits, expected, atol=1e-6)
