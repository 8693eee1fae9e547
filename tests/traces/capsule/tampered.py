"""Capsules of the tests: made once, and changed as somebody might."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from orchestrator.cli import main
from orchestrator.registry import Registry

HASHES = "manifest-sha256.txt"
Edit = Callable[[bytes], bytes]


def command(*words: object) -> Result:
    """A command line with everything that is installed, in this process."""
    return CliRunner().invoke(main.assemble(Registry.load()), list(map(str, words)))


def verified(path: Path, *words: object) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of `tailback verify`."""
    done = command("verify", path, "--jobs", 1, "--json", *words)
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, json.loads(done.stdout)


def changed(path: Path, edits: Mapping[str, Edit], rehash: bool = False) -> Path:
    """A copy in which files are edited; with `rehash` by somebody who knows of the hashes."""
    with zipfile.ZipFile(path) as file:
        held = {one: file.read(one) for one in file.namelist()}
    assert set(edits) <= set(held)
    held |= {name: edit(held[name]) for name, edit in edits.items()}
    if rehash:
        lines = [f"{hashlib.sha256(held[n]).hexdigest()}  {n}\n" for n in held if n != HASHES]
        held[HASHES] = "".join(lines).encode()
    return write(path.with_name(f"changed-{path.name}"), held)


def write(path: Path, held: Mapping[str, bytes]) -> Path:
    """A ZIP file of these."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, octets in held.items():
            file.writestr(name, octets)
    return path


def text(old: str, new: str) -> Edit:
    """An edit of a text, which must be there."""

    def edit(octets: bytes) -> bytes:
        assert old.encode() in octets
        return octets.replace(old.encode(), new.encode())

    return edit


def value(*keys: Any, to: Any) -> Edit:
    """An edit of a value in JSON, which must be there."""

    def edit(octets: bytes) -> bytes:
        whole = found = json.loads(octets)
        for key in keys[:-1]:
            found = found[key]
        assert found[keys[-1]] != to
        found[keys[-1]] = to
        return json.dumps(whole).encode()

    return edit
