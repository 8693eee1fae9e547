"""Proofs that were made, kept by a digest of all that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import orchestrator
from firmware.modules import RTL
from firmware.proof.overflow import Finding, Proof
from firmware.proof.sources import plain
from orchestrator.algorithm import Algorithm

ENGINE = Path(orchestrator.__file__).parent


def folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tailback" / "proofs"


def digest_of(algorithm: Algorithm | None, name: str, solver: str, timeout_s: float) -> str:
    """Of the prover, the engine's sources, those of the algorithm's package or the Verilog, and
    of how long the solver may take."""
    files = [*Path(__file__).parent.glob("*.py"), *(ENGINE / "engine").rglob("*.py")]
    files += [ENGINE / "algorithm.py", ENGINE / "plan" / "params.py", ENGINE / "plan" / "units.py"]
    files += RTL.glob("*.v") if algorithm is None else []
    for kernel in (
        [] if algorithm is None else [*algorithm.kernels.values(), *algorithm.timers.values()]
    ):
        module = sys.modules.get(plain(kernel).__module__)
        file = Path(str(getattr(module, "__file__", "")))
        files += file.parent.glob("*.py") if file.name else []
    digest = hashlib.sha256(f"{name}\n{solver}\n{timeout_s}\n".encode())
    for file in sorted(set(files)):
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:24]


def kept(digest: str) -> Proof | None:
    """The proof of this digest, if it was made before."""
    try:
        table = json.loads((folder() / f"{digest}.json").read_text())
        return Proof(**{**table, "findings": [Finding(**one) for one in table["findings"]]})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def keep(digest: str, proof: Proof) -> None:
    """Keep it; where that cannot be, it is made again the next time."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        (folder() / f"{digest}.json").write_text(json.dumps(asdict(proof)))
    except OSError as error:
        print(f"tailback: {folder()}: {error.strerror}; proofs are not kept", file=sys.stderr)


def as_json(proofs: Iterable[Proof]) -> str:
    return json.dumps([asdict(proof) for proof in proofs], indent=1)
