"""Exit codes, and how an error becomes one sentence on stderr and one of them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from types import FrameType

from orchestrator.errors import TailbackError

MET, MISSED, BAD_INPUT, INVALID = 0, 1, 2, 3
BUG = 70
"""EX_SOFTWARE of sysexits.h: an error that is tailback's own."""

CODES_HELP = (
    "Exit codes: 0 all expectations met, 1 some missed, 2 bad input or refused by a target, "
    "3 the run is invalid or failed, 70 a bug in tailback, 130 interrupted."
)


class Terminated(BaseException):
    """A signal that asks the process to end; raised so that everything open is closed."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def raise_on_signals() -> None:
    """Turn SIGTERM and SIGHUP into an exception of the main thread, as Ctrl-C is already."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated(number)

    for name in ("SIGTERM", "SIGHUP"):
        # one that the parent had ignored stays so: nohup
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) == signal.SIG_DFL:
            signal.signal(getattr(signal, name), stop)


def say(text: str) -> None:
    """One message for the person, on stderr; not worth dying for when stderr is closed."""
    with contextlib.suppress(OSError):
        print(f"tailback: {text}", file=sys.stderr, flush=True)


def drop_stdout() -> None:
    """Point stdout nowhere, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def explain(error: BaseException) -> int:
    """Say on stderr what went wrong; returns the exit code."""
    match error:
        case TailbackError():
            say(str(error))
            return error.exit_code
        case KeyboardInterrupt():
            say("interrupted; nothing of an unfinished run was kept")
            return 128 + signal.SIGINT
        case Terminated():
            say(f"stopped by {error}; nothing of an unfinished run was kept")
            return 128 + error.number
        case BrokenPipeError():
            drop_stdout()  # the reader (head, less) had enough
            return 128 + getattr(signal, "SIGPIPE", 13)
        case OSError() if error.filename is not None:
            say(f"{error.filename}: {error.strerror}")
            return BAD_INPUT
    traceback.print_exception(error)
    say(f"this is a bug in tailback ({type(error).__name__}); please report the lines above")
    return BUG
