"""Exit codes, and the mapping of errors to one sentence on stderr and an exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from orchestrator.errors import OUT_OF_ROOM, TailbackError
from orchestrator.terminal.escape_control import plain

MET, MISSED, BAD_INPUT, INVALID = 0, 1, 2, 3
BUG = 70
"""EX_SOFTWARE of sysexits.h: an error that is tailback's own."""

STDOUT = "standard output"
"""The file that errors of its own name; those of a library's file often name none."""
TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)
UNMAPPED = ("failed to map segment", "cannot allocate memory", os.strerror(errno.ENOMEM))
"""In errors of the dynamic loader when the limit of address space is reached."""
MOST_LINES = 100
"""Most lines of one message."""
LONG_WORD = re.compile(r"(\S{100})(\S{400,})(\S{40})")
"""Characters without a space that are shortened in messages: more than any path of a user has."""

CODES_HELP = (
    "Exit codes: 0 all expectations met, or none in the plan, 1 some missed, 2 bad input or "
    "refused by a target, 3 the run is invalid, uncertain, stopped or failed, 70 a bug in "
    "tailback, 130 interrupted."
)


class Terminated(BaseException):
    """A signal that asks the process to end; raised so that everything open is closed."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


_stops: list[BaseException] = []
"""What signals have raised in this process."""
_handlers: list[Any] = []
"""Handlers of signals of `raise_on_signals`."""
REDELIVERY_S, LEFT_S = 0.01, 0.001
"""From a signal that was lost to the same one again, and between looks whether it can be sent."""


@contextlib.contextmanager
def raise_on_signals() -> Iterator[None]:
    """Within this block SIGINT, SIGTERM and SIGHUP are exceptions of the main thread that nothing
    swallows. Outside the main thread, which alone gets signals, nothing changes."""
    _stops.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = dict[Any, Any]()
    hooks = sys.unraisablehook, sys.excepthook

    def stop(number: int, frame: FrameType | None) -> None:
        _stops.append(KeyboardInterrupt() if number == signal.SIGINT else Terminated(number))
        raise _stops[-1]

    _handlers.append(stop)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        # one that the parent had ignored stays so: nohup
        usual = (signal.SIG_DFL, signal.default_int_handler)
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) in usual:
            before[getattr(signal, name)] = signal.signal(getattr(signal, name), stop)
    sys.unraisablehook, sys.excepthook = _redeliver_unraisable, _redeliver_printed
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _handlers.remove(stop)
        sys.unraisablehook, sys.excepthook = hooks


def is_raising(handler: Any) -> bool:
    """True for a signal handler of `raise_on_signals`, which raises an exception."""
    return handler in _handlers


def _redeliver_unraisable(lost: sys.UnraisableHookArgs) -> None:
    """Redeliver a signal whose exception was lost in a callback from C."""
    if lost.exc_value in _stops:
        _redeliver(lost.exc_value)
    else:
        sys.__unraisablehook__(lost)


def _redeliver_printed(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Redeliver a signal whose exception a library prints and drops (`PyErr_Print`), as modules in
    C do that fail to import NumPy."""
    if error in _stops:
        _redeliver(error)
    else:
        sys.__excepthook__(kind, error, trace)


def _redeliver(lost: BaseException) -> None:
    """Raise a signal again whose exception was lost.

    The compiler calls back while it works. It may fail later for want of what the callback was to
    do, or not fail at all; `explain` and this function see to it that the run ends either way.
    """
    number = getattr(lost, "number", signal.SIGINT)
    again = threading.Timer(REDELIVERY_S, _send_signal, [number])
    again.daemon = True
    again.start()


def _send_signal(number: int) -> None:
    """Send the main thread a signal once it has left the hook, which would lose it as well."""
    main = threading.main_thread().ident
    while main is not None and _is_redelivering(sys._current_frames().get(main)):
        time.sleep(LEFT_S)
    if hasattr(signal, "pthread_kill") and main is not None:  # it may be in a system call
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)


def _is_redelivering(frame: FrameType | None) -> bool:
    hooks = (_redeliver_unraisable.__code__, _redeliver_printed.__code__)
    while frame is not None and frame.f_code not in hooks:
        frame = frame.f_back
    return frame is not None


def stopped_by(stop: BaseException) -> int:
    """The exit code of a process that a signal has ended, in the manner of a shell."""
    return 128 + int(getattr(stop, "number", signal.SIGINT))


def say(text: str) -> None:
    """Print one message on stderr; a closed stderr is ignored."""
    if sys.stderr is None:  # print would write to stdout
        return
    with contextlib.suppress(OSError, ValueError):
        print(f"tailback: {plain(_shortened(text))}", file=sys.stderr, flush=True)


def _shortened(text: str) -> str:
    """A text whose long words, such as a number of 10 000 digits, have a middle no more."""
    return LONG_WORD.sub(lambda m: f"{m[1]}...({len(m[2])} characters)...{m[3]}", text)


class _Stdout(io.FileIO):
    """File behind stdout, whose errors name it."""

    def write(self, octets: Any, /) -> int:
        """Write what was printed. Raises OSError with a name."""
        try:
            return super().write(octets)
        except OSError as error:
            raise OSError(error.errno, error.strerror, STDOUT) from error


def name_stdout() -> None:
    """Have errors of writing to stdout say so; a stdout that is no file stays as it is.

    One without a buffer (PYTHONUNBUFFERED) would lose what a full disk has no room for, in silence.
    """
    buffer = getattr(sys.stdout, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if type(raw) is not io.FileIO:
        return
    sys.stdout.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Stdout(raw.fileno(), "w", closefd=False)),
        encoding=sys.stdout.encoding,
        errors=sys.stdout.errors,
        line_buffering=bool(sys.stdout.line_buffering or buffer is raw),
    )


def drop_stdout() -> None:
    """Point stdout nowhere, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lacks_memory(error: BaseException) -> bool:
    """True where a library could not be loaded for want of memory: the loader's own words."""
    causes: list[BaseException] = []
    while error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__ or error
    loaders = [one for one in causes if isinstance(one, OSError | ImportError)]
    return any(word in str(one) for one in loaders for word in UNMAPPED)


def explain(error: BaseException) -> int:
    """Say on stderr what went wrong; returns the exit code."""
    if not isinstance(error, KeyboardInterrupt | Terminated) and (limit := _limit(error)):
        if getattr(error, "filename", None) == STDOUT:
            drop_stdout()
        say(limit)
        return error.exit_code if isinstance(error, TailbackError) else BAD_INPUT
    if not isinstance(error, TailbackError) and _lacks_memory(error):
        error = MemoryError()
    match error:
        case TailbackError():
            lines = str(error).splitlines()
            rest = len(lines) - MOST_LINES
            more = [f"  ... and {rest} more"] if rest > 0 else []
            say("\n".join(lines[:MOST_LINES] + more))
            return error.exit_code
        case KeyboardInterrupt():
            say("interrupted; nothing of an unfinished run was kept")
            return stopped_by(error)
        case Terminated():
            say(f"stopped by {error}; nothing of an unfinished run was kept")
            return stopped_by(error)
        case BrokenPipeError():
            drop_stdout()  # the reader (head, less) had enough
            return 128 + getattr(signal, "SIGPIPE", 13)
        case OSError() if error.filename is not None:
            if error.filename == STDOUT:
                drop_stdout()
            whose = None if error.errno in OUT_OF_ROOM else _mistake_of_plugin(error)
            say(whose or f"{error.filename}: {error.strerror}")
            return BAD_INPUT
        case OSError() if error.errno in OUT_OF_ROOM:
            say(
                f"a file could not be written: {error.strerror}; it is one below --out, or another "
                "that was asked for"
            )
            return BAD_INPUT
        case MemoryError():
            allowed = _allowed("RLIMIT_AS", " octets")
            say(f"no memory is left{allowed}; free some, or raise the limit")
            return INVALID
    if _stops:  # it is the signal's doing
        return explain(_stops.pop())
    if whose := _mistake_of_plugin(error):
        say(whose)
        return BAD_INPUT
    traceback.print_exception(error)
    say(f"this is a bug in tailback ({type(error).__name__}); please report the lines above")
    return BUG


def _mistake_of_plugin(error: BaseException) -> str | None:
    """Sentence about an error in a plugin's own code, with plugin, file and line; None for others.

    The innermost frame that is a plugin's or tailback's decides; libraries are passed over.
    """
    from orchestrator.registry import Registry

    cache_info = getattr(Registry.load, "cache_info", None)
    if cache_info is not None and not cache_info().currsize:
        return None  # no plugin was loaded
    registry = Registry.load()
    modules = registry.third_party_files()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        for place, name in modules.items():
            if path == place or place in path.parents:
                what = " ".join(str(error).split()) or "no message"
                return (
                    f"plugin {name}: {frame.filename}:{frame.lineno}: {frame.name} failed with "
                    f"{type(error).__name__}: {what}; mend the plugin, or remove it"
                )
        if any(folder in path.parents for folder in _OUR_FOLDERS):
            return None
    return None


_ROOT = Path(__file__).parents[2]
_OUR_FOLDERS = [
    _ROOT / name for name in ("orchestrator", "plugins", "traffic", "traces", "firmware")
]

_TOO_MANY, _TOO_LARGE = os.strerror(errno.EMFILE), os.strerror(errno.EFBIG)


def _limit(error: BaseException) -> str | None:
    """The sentence for a limit of the process that an error, or what led to it, has met."""
    found: BaseException | None = error
    for _ in range(20):
        if found is None:
            return None
        code = getattr(found, "errno", None)
        text = str(found) if code is None and isinstance(found, OSError) else ""  # Arrow's
        if code in TOO_MANY_FILES or _TOO_MANY in text:
            allowed = _allowed("RLIMIT_NOFILE")
            return f"this process may open no more files{allowed}; `ulimit -n` raises that"
        if code == errno.EFBIG or _TOO_LARGE in text:
            what = getattr(found, "filename", None) or _about(error)
            allowed = _allowed("RLIMIT_FSIZE", " octets")
            return f"{what}: no larger file may be written{allowed}; `ulimit -f` raises that"
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
    return None


def _about(error: BaseException) -> str:
    """Subject of a TailbackError: the text before its first colon."""
    return str(error).partition(": ")[0] if isinstance(error, TailbackError) else "a file"


def _allowed(name: str, unit: str = "") -> str:
    """Limit of the process as text, where the system reports it."""
    try:
        import resource

        most = resource.getrlimit(getattr(resource, name))[0]
    except (ImportError, AttributeError, OSError):
        return ""
    return f" (the limit is {most}{unit})"
