"""Cache of proofs, keyed by a digest of all that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import orchestrator
from firmware.proof.checked_int import names_in
from firmware.proof.kernel_source import python_function
from firmware.proof.overflow_proof import Finding, Proof
from firmware.verilog_modules import RTL
from orchestrator.algorithm import Algorithm

ENGINE = Path(orchestrator.__file__).parent
PROVER = Path(__file__).parent
KERNELS = (ENGINE.parent / "plugins", ENGINE.parent / "traffic")


def folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tailback" / "proofs"


def digest_of(algorithm: Algorithm | None, name: str, solver: str, timeout_s: float) -> str:
    """Digest of the prover, the engine, the time limit, and the packages of the algorithm's kernels
    or, for a module, the Verilog and all kernels that it may be compared with."""
    files = [*PROVER.glob("*.py"), *(ENGINE / "engine").rglob("*.py")]
    files += [ENGINE / "algorithm.py"]
    files += [ENGINE / "plan" / "algorithm_params.py", ENGINE / "plan" / "units.py"]
    if algorithm is None:
        files += [*RTL.glob("*.v"), *(one for room in KERNELS for one in room.glob("*.py"))]
    else:
        for kernel in [*algorithm.kernels.values(), *algorithm.timers.values()]:
            files += [other for one in _modules(kernel, set()) for other in one.parent.glob("*.py")]
    digest = hashlib.sha256(f"{name}\n{solver}\n{timeout_s}\n".encode())
    for file in sorted(set(files)):
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:24]


def _modules(function: Any, seen: set[int]) -> set[Path]:
    """Files of a compiled function and of all functions that it calls."""
    inner = python_function(function)
    code = getattr(inner, "__code__", None)
    if code is None or id(inner) in seen:
        return set()
    seen.add(id(inner))
    found = {Path(code.co_filename)}
    for name in names_in(code):
        value = inner.__globals__.get(name)
        if isinstance(value, ModuleType):
            for part in names_in(code):
                found |= _modules(getattr(value, part, None), seen)
        else:
            found |= _modules(value, seen)
    return {file for file in found if file.is_file()}


def cached_proof(digest: str) -> Proof | None:
    """Cached proof of a digest; None without one."""
    try:
        table = json.loads((folder() / f"{digest}.json").read_text())
        return Proof(**{**table, "findings": [Finding(**one) for one in table["findings"]]})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def store_proof(digest: str, proof: Proof) -> None:
    """Store a proof; if that fails, it is made again the next time."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        (folder() / f"{digest}.json").write_text(json.dumps(asdict(proof)))
    except OSError as error:
        print(f"tailback: {folder()}: {error.strerror}; proofs are not kept", file=sys.stderr)


def proofs_as_json(proofs: Iterable[Proof]) -> str:
    return json.dumps([asdict(proof) for proof in proofs], indent=1)
