"""Links in a folder that is registered: those of a download's cache are followed and said, no other leads out of it."""

from pathlib import Path

import pytest

from registry import admission, model_folders
from registry.errors import RegistrationRefused
from registry.registering import UNATTENDED
from tests.engine.snapshots import cached

SECRET = "what nobody may see"


@pytest.mark.django_db
def test_the_cache_of_a_download_is_registered_by_its_content(folder: Path, models_dir: Path, tmp_path: Path) -> None:
    snapshot = cached(folder, tmp_path / "cache")
    admitted = admission.admit(snapshot, name="tiny", version="1.0", pin={"threads": 1}, actor=UNATTENDED)
    row, kept = admitted.model_version, models_dir / "tiny-1.0"
    assert (row.digest, row.card) == (model_folders.read(folder).digest, "# tiny\nRandom weights.\n")
    assert "4 of its files are links, as in the cache of a download: what they lead to was digested" in admitted.notes
    assert not [path for path in kept.iterdir() if path.is_symlink()]
    assert model_folders.read(kept).digest == row.digest


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "model.safetensors", "README.md", "LICENSE", "merges.txt"])
def test_a_link_out_of_a_folder_is_refused_before_anything_is_read(
    folder: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a card, too: it would be shown."""
    (tmp_path / "secret").write_text(SECRET)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "secret")
    monkeypatch.setattr(model_folders, "_sha256", lambda path: pytest.fail("it was read"))
    with pytest.raises(RegistrationRefused, match=f"{name} is a link out of the folder, to .*secret; copy the files") as refused:
        model_folders.read(folder)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "other.safetensors", "README.md"])
def test_a_link_that_leads_nowhere_is_no_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to("../../blobs/not-fetched")
    with pytest.raises(RegistrationRefused, match=f"{name} is a link that leads nowhere; fetch the folder again"):
        model_folders.read(folder)


def test_what_may_change_a_result_and_is_no_file_is_not_passed_over(folder: Path) -> None:
    (folder / "tokenizer_config.json").mkdir()
    with pytest.raises(RegistrationRefused, match=r"tokenizer_config\.json cannot be read: it is no regular file"):
        model_folders.read(folder)
