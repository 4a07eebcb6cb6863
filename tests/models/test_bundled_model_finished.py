"""An evaluation that was stopped measures nothing twice, and never mixes figures of different weights."""

from models.training.finished import Finished


def test_a_figure_is_measured_once_and_survives_a_stop(tmp_path):
    calls = []
    for _ in range(2):
        finished = Finished(tmp_path / "part.json", {"model.safetensors": "a"})
        assert finished.measure("bits", lambda: calls.append(1) or 1.5) == 1.5
    assert len(calls) == 1


def test_figures_of_other_files_are_forgotten(tmp_path):
    Finished(tmp_path / "part.json", {"model.safetensors": "a"}).measure("bits", lambda: 1.5)
    assert Finished(tmp_path / "part.json", {"model.safetensors": "b"}).measure("bits", lambda: 1.4) == 1.4


def test_without_a_path_nothing_is_kept(tmp_path):
    assert Finished(None, {}).measure("bits", lambda: 1.5) == 1.5
    assert not list(tmp_path.iterdir())
