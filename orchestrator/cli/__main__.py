"""The `tailback` command, also as `python -m orchestrator.cli`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from orchestrator.cli.main import command_line
    except KeyboardInterrupt:  # Ctrl-C while still importing
        print("tailback: interrupted before anything began", file=sys.stderr)
        sys.exit(130)
    sys.exit(command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
