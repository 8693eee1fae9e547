"""Caches of machine code: safe folders, modes, seals, and what replaces a cache that is unsafe."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from firmware.proof import proof_cache
from firmware.proof.overflow_proof import Proof
from firmware.verilated import model_build
from orchestrator import ownership, private_cache, python_command
from orchestrator.engine import object_cache

STRANGER = 12345
SEEDS = range(12)
SAYS = """
import json, os, sys
from orchestrator.engine import cache_paths
from orchestrator import private_cache
found = [cache_paths.folder(), private_cache.folder("gateware"), private_cache.folder("proofs")]
private_cache.sealed("name", b"content")
print(json.dumps([[str(one) for one in found], str(private_cache.key_file())]))
"""


def folders_of(
    umask: int = 0o022, **variables: str | Path
) -> tuple[list[Path], Path, subprocess.CompletedProcess[str]]:
    """The caches of a process with such variables, and the file of its key."""
    ours = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    given = {
        name: value
        for name, value in python_command.environment().items()
        if name not in (*ours, private_cache.FOLDER, private_cache.KEY)
    }
    done = subprocess.run(
        python_command.code(SAYS),
        env=given | {name: str(value) for name, value in variables.items()},
        umask=umask,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    folders, key = json.loads(done.stdout)
    return [Path(one) for one in folders], Path(key), done


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_caches_and_key_are_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    folders, key, done = folders_of(umask, HOME=tmp_path)
    assert done.stderr == ""
    for folder in folders:
        assert folder.is_relative_to(tmp_path / ".cache" / "tailback")
    made = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert {mode(path) for path in made} == {0o700}
    assert key == tmp_path / ".local/state/tailback/cache.key"
    assert mode(key) == 0o600


def weakened(folder: Path, draw: random.Random) -> Path:
    """Make one folder on the way to a new cache unsafe, by owner, mode or link."""
    parts = [f"{draw.randrange(1000)}" for _ in range(draw.randint(1, 4))]
    cache = folder.joinpath(*parts)
    cache.mkdir(parents=True)
    weak = draw.choice([cache, *list(cache.parents)[: len(parts) - 1]])
    kinds = ["others", "group", "sticky"] + (["owner", "link"] if os.getuid() == 0 else [])
    match draw.choice(kinds):
        case "others":
            weak.chmod(0o702)
        case "group":
            weak.chmod(0o770)
        case "sticky" if os.getuid() == 0:
            weak.chmod(0o1777)  # safe: of the system, as /tmp is, but what lies in it is not
            inner = weak / "inner"
            inner.mkdir(exist_ok=True)
            os.chown(inner, STRANGER, STRANGER)
            cache = inner
        case "sticky":
            weak.chmod(0o1777)
        case "owner":
            os.chown(weak, STRANGER, STRANGER)
        case "link":
            own = folder / "own"
            own.mkdir()
            link = cache / "link"
            link.symlink_to(own)
            os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
            cache = link
    return cache


@pytest.mark.parametrize("seed", SEEDS)
def test_an_unsafe_cache_is_replaced_and_said(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    cache = weakened(tmp_path / "caches", draw)
    variable = draw.choice(["XDG_CACHE_HOME", private_cache.FOLDER])
    assert ownership.exposure(cache) is not None
    folders, _, done = folders_of(HOME=tmp_path / "home", **{variable: cache})
    assert not any(folder.is_relative_to(tmp_path / "caches") for folder in folders), folders
    assert not any(folder.exists() for folder in folders), "they are removed at the end"
    assert done.stderr.count("is not used: ") == done.stderr.count("\n") <= 3, done.stderr
    assert "A private cache is used in its place" in done.stderr
    named, _, done = folders_of(HOME=tmp_path / "home", NUMBA_CACHE_DIR=cache)
    assert not named[0].is_relative_to(tmp_path / "caches")
    assert f"the cache {cache} is not used" in done.stderr


@pytest.mark.parametrize("fault", ["readable", "short", "folder", "pipe", "writable"])
def test_a_key_that_others_may_know_is_not_used(fault: str, tmp_path: Path) -> None:
    _, key, _ = folders_of(HOME=tmp_path)
    match fault:
        case "readable":
            key.chmod(0o644)
        case "short":
            key.write_bytes(b"0" * 31)
        case "folder":
            key.unlink()
            key.mkdir(mode=0o700)
        case "pipe":  # without a writer: opening it waits
            key.unlink()
            os.mkfifo(key, 0o600)
        case "writable":
            key.parent.chmod(0o777)
    folders, used, done = folders_of(HOME=tmp_path)
    assert used != key
    assert f"the key of caches {key} is not used" in done.stderr
    assert not any(folder.is_relative_to(tmp_path) for folder in folders), "nothing lasts then"


def test_processes_agree_on_a_key_that_none_had(tmp_path: Path) -> None:
    code = "from orchestrator import private_cache as c; print(c.sealed('n', b'c').hex())"
    environment = python_command.environment(HOME=str(tmp_path))
    environment.pop(private_cache.KEY, None)
    environment.pop("XDG_STATE_HOME", None)
    started = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    assert len({process.communicate(timeout=60)[0] for process in started}) == 1
    assert [path.name for path in (tmp_path / ".local/state/tailback").iterdir()] == ["cache.key"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seal_holds_name_and_content(seed: int) -> None:
    draw = random.Random(seed)
    name, content = f"entry {draw.random()}", draw.randbytes(draw.randrange(1, 2000))
    data = private_cache.sealed(name, content)
    assert private_cache.opened(name, data) == content
    spoilt = bytearray(data)
    spoilt[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    cut = data[: draw.randrange(len(data))]
    for other in (bytes(spoilt), cut, data + b"\0", content, b""):
        assert private_cache.opened(name, other) is None
    assert private_cache.opened(name[:-1], data) is None
    assert private_cache.opened(name[:-1], data[:32] + name[-1:].encode() + content) is None


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(private_cache.FOLDER, raising=False)
    return tmp_path


PROOF = Proof("name", "kind", "proved", "subject")


def another_key(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """As a cache that another user, or another machine, filled."""
    monkeypatch.setenv(private_cache.KEY, str(folder / "another" / "cache.key"))


@pytest.mark.usefixtures("caches")
def test_what_another_key_sealed_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = tmp_path / "entries" / "one.entry"
    library = model_build.cache_folder() / "it.so"
    build = tmp_path / "build"
    build.mkdir()
    (build / "out.so").write_bytes(b"code")
    with monkeypatch.context() as patch:
        another_key(patch, tmp_path)
        object_cache.store_entry(entry)
        model_build._move_into_cache(build, library)
        proof_cache.store_proof("digest", PROOF)
        assert object_cache.load(entry) == object_cache.UNFIT
        assert model_build._is_cached(library)
        assert proof_cache.cached_proof("digest") == PROOF
    assert object_cache.load(entry) is None
    assert not model_build._is_cached(library)
    assert proof_cache.cached_proof("digest") is None
