"""The `tailback` command, also as `python -m orchestrator.cli`."""

from __future__ import annotations

import gc
import sys

NEW_OBJECTS = 50_000


def main() -> None:
    """Run the command line and leave with its exit code."""
    gc.set_threshold(NEW_OBJECTS)  # not at every 700: importing makes many, and drops next to none
    from orchestrator.errors import Refused
    from orchestrator.shadow import refuse_foreign_packages

    try:
        refuse_foreign_packages()  # first of all: what is not ours may fail while it is imported
        from orchestrator.cli.main import command_line
    except Refused as refusal:
        print(f"tailback: {refusal}", file=sys.stderr)
        sys.exit(refusal.exit_code)
    except OSError as error:  # no module of ours can be read: too few files, no rights
        print(f"tailback: cannot be started: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # Ctrl-C while still importing
        print("tailback: interrupted before anything began", file=sys.stderr)
        sys.exit(130)
    sys.exit(command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
