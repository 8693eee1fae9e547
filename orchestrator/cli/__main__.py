"""The `tailback` command, also as `python -m orchestrator.cli`."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
from types import FrameType

NEW_OBJECTS = 500_000
"""So many are made before Python looks for rings of them to drop: importing makes some 300 000, and
drops next to none."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
SPIN = ("OPENBLAS_THREAD_TIMEOUT", "4")
"""2^4 clocks: for so long the threads of numpy's linear algebra look for work before they sleep. By
default it is a thirtieth of a second of each core, after every import of numpy. Their number, which
has a say in how sums are rounded, stays."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave_at_once)
    gc.set_threshold(NEW_OBJECTS)
    os.environ.setdefault(*SPIN)
    atexit.register(_leave)
    _run()


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
    except OSError as error:  # no module of tailback can be read: too few files, no rights
        print(f"tailback: cannot be started: {error}", file=sys.stderr)
        sys.exit(2)
    try:
        if signal.getsignal(signal.SIGINT) is _leave_at_once:  # the command line has its own
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = command_line(sys.argv[1:])
    except KeyboardInterrupt:
        print("tailback: interrupted before anything began", file=sys.stderr)
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
