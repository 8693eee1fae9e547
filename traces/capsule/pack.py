"""Packs the folder of a run, of its seeds, or of a sweep into one capsule (`tailback pack`).

The same folder gives the same file, octet by octet, on the same installation: names are in order
and times are those of ZIP's beginning.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.batch.experiment import SIMULATED
from orchestrator.batch.parquet_dataset import POINTS
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.plan_files import plan_files
from traces.capsule.capsule_layout import (
    CRATE,
    DATA,
    FILES,
    FORMAT,
    HASHES,
    MOST_FILES,
    MOST_OCTETS,
    PLAN_OF,
    RECORD,
    RESULT_OF,
    RUN,
    SEEDS,
    SWEEP,
)
from traces.capsule.capsule_record import (
    Kind,
    Record,
    environment_here,
    environment_of,
    packages_here,
    plugins_of,
)
from traces.capsule.ro_crate import crate_of
from traces.run_reader import load, read_object

BEGINNING = (1980, 1, 1, 0, 0, 0)
CAPTURES = "captures/"


@dataclass(frozen=True)
class Packed:
    """The packed capsule."""

    path: Path
    sha256: str
    files: int
    octets: int


def pack(folder: Path, out: Path, captures: bool = True) -> Packed:
    """Pack the folder of a run, of its seeds or of a sweep into `out`, which must not exist.

    Raises BadInput.
    """
    if out.exists():
        raise BadInput(str(out), "is there already, and nothing is overwritten; name another --out")
    kind = kind_of(folder)
    manifest, facts = read_object(folder / "manifest.json"), _facts(folder, kind)
    inside = _inside(folder, captures)
    record = _record(folder, kind, manifest, facts)
    inside |= {record.files[path]: Path(path) for path in record.files}
    if len(inside) + 3 > MOST_FILES or sum(p.stat().st_size for p in inside.values()) > MOST_OCTETS:
        text = f"at most {MOST_FILES} files and {MOST_OCTETS} octets go into a capsule"
        raise BadInput(str(folder), f"{text}; --no-captures leaves the captures out")
    made = record.model_dump()
    texts = {RECORD: json.dumps(made, indent=2, allow_nan=False).encode() + b"\n"}
    title, started = str(facts.get("title") or ""), str(manifest.get("started") or "")
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _write(partial, inside, texts, record, title, started)
        os.link(partial, out)  # unlike a rename it overwrites nothing
    except OSError as error:
        raise BadInput(str(out), f"cannot be written ({error.strerror})") from error
    finally:
        partial.unlink(missing_ok=True)
    with out.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Packed(out, digest, len(inside) + len(texts) + 2, out.stat().st_size)


def kind_of(folder: Path) -> Kind:
    """Kind of a folder: run, seeds or sweep."""
    if (folder / "sweep.json").is_file():
        return "sweep"
    return "seeds" if (folder / "seeds.json").is_file() else "run"


def _facts(folder: Path, kind: str) -> dict[str, Any]:
    """Facts of the result about its run, checked."""
    if kind == RUN:
        found = load(folder).result  # all of it: what cannot be read is not handed on
        return {"seeds": [found.seed], **found.model_dump(include={"plan", "target", "title"})}
    if kind == SEEDS:
        return _of_seeds(folder)
    if not (folder / PLAN_OF[SWEEP]).is_file():
        text = "was made before sweeps could be packed; run it again (its points are kept)"
        raise BadInput(str(folder), text)
    contents = read_object(folder / "sweep.json")
    if contents.get("target", SIMULATED) != SIMULATED:
        text = f"a sweep on {contents['target']}, whose points do not come out alike, is not packed"
        raise BadInput(str(folder), f"{text}; pack a run with --seeds of each place that matters")
    return contents | {"target": SIMULATED}


def _of_seeds(folder: Path) -> dict[str, Any]:
    if not (folder / POINTS).is_dir():
        text = "was made before runs with seeds could be packed; run it again (its seeds are kept)"
        raise BadInput(str(folder), text)
    contents = read_object(folder / RESULT_OF[SEEDS])
    try:
        return {**contents, "seeds": [one["seed"] for one in contents["seeds"]]}
    except (LookupError, TypeError):
        raise BadInput(str(folder / RESULT_OF[SEEDS]), "names no seeds") from None


def _record(folder: Path, kind: Kind, manifest: dict[str, Any], facts: dict[str, Any]) -> Record:
    text = (folder / PLAN_OF[kind]).read_text(encoding="utf-8")
    resolved = Plan.load(text, Registry.load()).check(Registry.load())
    files = sorted(plan_files(resolved))
    environment = environment_of(manifest)
    same = environment["sources"] == environment_here()["sources"]
    return Record(
        tailback_capsule=FORMAT,
        kind=kind,
        name=facts["plan"],
        target=facts["target"],
        seeds=facts["seeds"],
        plan=tomllib.loads(text),
        environment=environment,
        plugins=plugins_of(resolved),
        files={path: f"{FILES}{at}-{Path(path).name}" for at, path in enumerate(files)},
        packages=packages_here() if same else None,
    )


def _inside(folder: Path, captures: bool) -> dict[str, Path]:
    """Name in the capsule -> file: all that are files, no links, nothing hidden."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if path.is_file() and not path.is_symlink() and not hidden:
            found[DATA + name] = path
    return {n: p for n, p in found.items() if captures or not n.startswith(DATA + CAPTURES)}


def _write(
    path: Path,
    inside: dict[str, Path],
    texts: dict[str, bytes],
    record: Record,
    title: str,
    started: str,
) -> None:
    known: dict[str, tuple[int, str]] = {}
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED, allowZip64=False) as file:

        def put(name: str, octets: bytes) -> None:
            entry = zipfile.ZipInfo(name, BEGINNING)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            file.writestr(entry, octets)
            known[name] = (len(octets), hashlib.sha256(octets).hexdigest())

        for name, octets in texts.items():
            put(name, octets)
        for name, source in inside.items():
            put(name, source.read_bytes())
        crate = crate_of(record, title, started, known)
        put(CRATE, json.dumps(crate, indent=2, ensure_ascii=False).encode() + b"\n")
        put(HASHES, "".join(f"{known[n][1]}  {n}\n" for n in sorted(known)).encode())
