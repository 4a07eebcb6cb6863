"""Links in a model folder: the cache of a download is made of them and works; all others that lead out are refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from engine.config import EngineConfig
from engine.errors import ModelRefused
from engine.loading import load
from tests.engine.checkpoints import Shape, write_checkpoint
from tests.engine.snapshots import cached

SMALL = EngineConfig(blocks=96, self_test=False)
READ = ["config.json", "vocab.json", "model.safetensors.index.json", "model-00002-of-00003.safetensors", "generation_config.json"]


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    folder = write_checkpoint(tmp_path / "plain", Shape(shards=3, seed=8))
    (folder / "generation_config.json").write_text("{}")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(ModelRefused) as refused:
        load(folder, config=SMALL)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_the_cache_of_a_download_is_the_folder_that_it_holds(plain: Path, tmp_path: Path) -> None:
    """Also by a link to the snapshot: what is digested is names and content."""
    snapshot = cached(plain, tmp_path)
    (tmp_path / "latest").symlink_to(snapshot)
    assert {load(one, config=SMALL).fingerprint for one in (plain, snapshot, tmp_path / "latest")} == {
        load(plain, config=SMALL).fingerprint
    }


def test_a_link_to_another_file_of_the_folder_is_followed(plain: Path) -> None:
    before = load(plain, config=SMALL).fingerprint
    (plain / "vocab.json").rename(plain / "letters")
    (plain / "vocab.json").symlink_to("letters")
    assert load(plain, config=SMALL).fingerprint == before


@pytest.mark.parametrize("name", READ)
def test_a_link_out_of_the_folder_is_refused_with_where_it_leads(plain: Path, tmp_path: Path, name: str) -> None:
    (plain / name).rename(tmp_path / "elsewhere")
    (plain / name).symlink_to(tmp_path / "elsewhere")
    assert refusal(plain) == (
        f"{name} is a link out of the folder, to {tmp_path / 'elsewhere'}; copy the files themselves, as cp -L does"
    )


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("target", ["nowhere", "../../blobs/not-fetched", "itself"])
def test_a_link_that_leads_nowhere_is_no_missing_file(plain: Path, name: str, target: str) -> None:
    """A file that may be left out would be left out without a word."""
    (plain / name).unlink()
    (plain / name).symlink_to(name if target == "itself" else target)
    assert refusal(plain) == f"{name} is a link that leads nowhere; fetch the folder again"


@pytest.mark.parametrize("name", READ)
def test_what_is_no_file_is_not_opened(plain: Path, name: str) -> None:
    """A pipe would be waited for without end."""
    (plain / name).unlink()
    os.mkfifo(plain / "pipe")
    (plain / name).symlink_to("pipe")
    assert refusal(plain) == f"{name} cannot be read: it is no regular file"


def test_blobs_of_another_download_are_not_those_of_this_one(plain: Path, tmp_path: Path) -> None:
    snapshot = cached(plain, tmp_path)
    other = tmp_path / "models--other--model" / "blobs"
    other.mkdir(parents=True)
    shutil.copyfile(plain / "vocab.json", other / "letters")
    (snapshot / "vocab.json").unlink()
    (snapshot / "vocab.json").symlink_to(other / "letters")
    assert "is a link out of the folder" in refusal(snapshot)


def test_blobs_that_lead_on_are_not_followed(plain: Path, tmp_path: Path) -> None:
    """Whoever fills a folder may have filled the one beside it."""
    snapshot = cached(plain, tmp_path)
    blobs = snapshot.parent.parent / "blobs"
    blobs.rename(tmp_path / "private")
    blobs.symlink_to(tmp_path / "private")
    assert "is a link out of the folder" in refusal(snapshot)
