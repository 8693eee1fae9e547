"""Cache of proofs, keyed by a digest of all that they depend on."""

from __future__ import annotations

import contextlib
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
from orchestrator import private_cache
from orchestrator.algorithm import Algorithm

ENGINE = Path(orchestrator.__file__).parent
PROVER = Path(__file__).parent
KERNELS = (ENGINE.parent / "plugins", ENGINE.parent / "traffic")


def folder() -> Path:
    """Cache folder of proofs, which other users cannot write to."""
    return private_cache.folder("proofs")


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
    """Cached proof of a digest; None without one that this user made."""
    try:
        data = _file(digest).read_bytes()
    except OSError:
        return None
    content = private_cache.opened(f"proof {digest}", data)
    if content is None:
        return None
    table = json.loads(content)
    return Proof(**{**table, "findings": [Finding(**one) for one in table["findings"]]})


def store_proof(digest: str, proof: Proof) -> None:
    """Store a proof, sealed (`private_cache`); if that fails, it is made again the next time."""
    file = _file(digest)
    content = json.dumps(asdict(proof)).encode()
    new = file.with_suffix(f".{os.getpid()}")
    try:
        new.write_bytes(private_cache.sealed(f"proof {digest}", content))
        new.replace(file)
    except OSError as error:
        print(f"tailback: {file.parent}: {error.strerror}; proofs are not kept", file=sys.stderr)
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def _file(digest: str) -> Path:
    return folder() / f"{digest}.proof"


def proofs_as_json(proofs: Iterable[Proof]) -> str:
    return json.dumps([asdict(proof) for proof in proofs], indent=1)
