"""Where compiled kernels come from: built once, found again, and a clear reason where they cannot be had."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernels import compiler
from kernels.errors import KernelsUnavailable

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
SOURCE = 'extern "C" int answer() { return 42; }\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout and a user's cache of our own, with a source that compiles in no time."""
    monkeypatch.setattr(compiler, "_ROOT", tmp_path / "checkout")
    monkeypatch.setattr(compiler, "SOURCES", tmp_path / "source")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "answer.cpp").write_text(SOURCE)
    return tmp_path


@needs_compiler
def test_what_was_built_is_found_again_even_without_a_compiler(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = compiler.library("avx2")
    made = built.stat().st_mtime_ns
    assert built.parent == place / "checkout" / ".run" / "kernels"
    assert [path.name for path in built.parent.iterdir()] == [built.name]
    assert compiler.library("avx2") == built
    monkeypatch.setenv("PATH", "")
    assert compiler.library("avx2") == built
    assert built.stat().st_mtime_ns == made


@needs_compiler
def test_another_source_or_instruction_set_is_another_library(place: Path) -> None:
    first = compiler.library("avx2")
    (place / "source" / "answer.cpp").write_text(SOURCE.replace("42", "43"))
    assert len({first, compiler.library("avx2"), compiler.library("avx512")}) == 3


@needs_compiler
def test_a_checkout_that_cannot_be_written_uses_the_cache_of_the_user(place: Path) -> None:
    (place / "checkout").write_text("a file, so that nothing can be made below it")
    assert compiler.library("avx2").parent == place / "cache" / "helicase" / "kernels"


@needs_compiler
def test_no_folder_to_write_is_a_reason(place: Path) -> None:
    (place / "checkout").write_text("")
    (place / "cache").write_text("")
    with pytest.raises(KernelsUnavailable, match="can be written"):
        compiler.library("avx2")


@needs_compiler
def test_a_source_that_does_not_compile_leaves_nothing_behind(place: Path) -> None:
    (place / "source" / "answer.cpp").write_text("no C++ at all")
    with pytest.raises(KernelsUnavailable, match=r"could not build the kernels: .*error"):
        compiler.library("avx2")
    assert list((place / "checkout" / ".run" / "kernels").iterdir()) == []


def test_no_compiler_and_nothing_built_before_is_a_reason(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(KernelsUnavailable, match="no g\\+\\+ on the path"):
        compiler.library("avx2")


def test_an_instruction_set_without_kernels_is_a_reason() -> None:
    with pytest.raises(KernelsUnavailable, match="'neon'"):
        compiler.library("neon")  # type: ignore[arg-type]
