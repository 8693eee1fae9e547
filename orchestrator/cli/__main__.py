"""The `tailback` command, also as `python -m orchestrator.cli`."""

from __future__ import annotations

import sys


def _leave_out_working_folder() -> None:
    """Take the working folder off the import path where an empty entry of PYTHONPATH put it: a
    file there would run in place of a module of the same name."""
    import os  # loaded by the interpreter's start

    entries = os.environ.get("PYTHONPATH")
    if entries is None or "" not in entries.split(os.pathsep):
        return
    named = [entry for entry in entries.split(os.pathsep) if entry]
    os.environ["PYTHONPATH"] = os.pathsep.join(named)
    try:
        here = os.getcwd()
    except OSError:
        return
    if here not in map(os.path.abspath, named):
        sys.path[:] = [entry for entry in sys.path if entry not in ("", here)]


_leave_out_working_folder()

import atexit  # noqa: E402
import contextlib  # noqa: E402
import gc  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import signal  # noqa: E402
from types import FrameType  # noqa: E402

NEW_OBJECTS = 500_000
"""So many are made before Python looks for rings of them to drop: importing makes some 300 000, and
drops next to none."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
SIGNALLED = 128
"""Exit codes above it are of a signal."""
SPIN = ("OPENBLAS_THREAD_TIMEOUT", "4")
"""2^4 clocks: for so long the threads of numpy's linear algebra look for work before they sleep. By
default it is a thirtieth of a second of each core, after every import of numpy. Their number, which
has a say in how sums are rounded, stays."""

OF_LIBRARIES = (
    *("NUMPY_", "NPY_", "SCIPY_", "NETWORKX_", "ARROW_", "PYZMQ_", "PYDANTIC_"),
    *("MPL", "MATPLOTLIBRC", "TEXTUAL", "GRPC_", "AIOHTTP_", "YARL_", "MULTIDICT_"),
    *("PROMETHEUS_", "prometheus_", "PROTOCOL_BUFFERS_", "TEMPORARILY_DISABLE_PROTOBUF_"),
    "SSLKEYLOGFILE",
)
"""Beginnings of variables that choose modules, files and switches of libraries: tailback sets these
by itself, and a value that a library does not understand would end its import."""
CPU_FEATURES = re.compile(r"([+-][\w.-]+(,[+-][\w.-]+)*)?", re.ASCII)
"""Features of a CPU as LLVM reads them: of a list without signs it ends the process."""
LEAST_MEMORY = 192 * 2**20
"""Octets: with fewer, numpy's linear algebra ends the process with exit code 1, which means missed
expectations."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    _open_standard_files()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave_at_once)
    _check_surroundings()
    gc.set_threshold(NEW_OBJECTS)
    os.environ.setdefault(*SPIN)
    atexit.register(_leave)
    _run()


def _open_standard_files() -> None:
    """Open /dev/null for each of stdin, stdout and stderr that the parent closed: a file of a run
    would get its number, and what a library prints would be written into that file."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _memory_limit() -> int:
    """Octets of address space that this process may have; negative without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return -1
    return resource.getrlimit(resource.RLIMIT_AS)[0]


def _check_surroundings() -> None:
    """Refuse a working folder that was removed; leave out a width of terminal that is none, and
    the variables of libraries."""
    try:
        os.getcwd()
    except OSError as error:
        print(f"tailback: the working folder: {error.strerror}; change to another", file=sys.stderr)
        sys.exit(2)
    if 0 <= (limit := _memory_limit()) < LEAST_MEMORY:
        sentence = f"memory is limited to {limit} octets, and {LEAST_MEMORY} are the least"
        print(f"tailback: {sentence}; raise the limit (`ulimit -v`)", file=sys.stderr)
        sys.exit(3)
    for name in [name for name in os.environ if name.startswith(OF_LIBRARIES)]:
        del os.environ[name]
    if CPU_FEATURES.fullmatch(os.environ.get("NUMBA_CPU_FEATURES", "")) is None:
        del os.environ["NUMBA_CPU_FEATURES"]
    for name in ("COLUMNS", "LINES"):
        value = os.environ.get(name)
        if value is not None and not (value.isascii() and value.isdigit() and int(value[:6]) > 0):
            del os.environ[name]


def _leave_at_once(number: int, frame: FrameType | None) -> None:
    """Ctrl-C while still importing: nothing has begun, and an exception could end up anywhere."""
    os.write(2, b"tailback: interrupted before anything began\n")
    os._exit(INTERRUPTED)


def _leave() -> None:
    """Flush the stdout from before `exits.name_stdout`, to which a debugger prints, and skip
    garbage collection, since the process ends."""
    if sys.__stdout__ is not None:
        with contextlib.suppress(OSError, ValueError):  # the reader has closed it
            sys.__stdout__.flush()
    gc.freeze()


def _run() -> None:
    from orchestrator.errors import Refused
    from orchestrator.package_shadowing import refuse_foreign_packages

    try:
        refuse_foreign_packages()  # first of all: foreign packages may fail while they are imported
        from orchestrator.cli.main import command_line
    except Refused as refusal:
        print(f"tailback: {refusal}", file=sys.stderr)
        sys.exit(refusal.exit_code)
    except (OSError, ImportError, MemoryError) as error:
        # No module of tailback can be read: too few files, no rights, no memory.
        print(f"tailback: cannot be started: {error}", file=sys.stderr)
        sys.exit(2)
    try:
        if signal.getsignal(signal.SIGINT) is _leave_at_once:  # the command line has its own
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = command_line(sys.argv[1:])
    except KeyboardInterrupt:
        print("tailback: interrupted before anything began", file=sys.stderr)
        code = INTERRUPTED
    if code > SIGNALLED:
        _exit_at_once(code)
    sys.exit(code)


def _exit_at_once(code: int) -> None:
    """Leave after a signal, which may have ended anything half way: a generator of a library that
    is closed only when its module is gone writes a traceback."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the reader has closed it
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
