"""Command that writes the generated pages: `python -m orchestrator.pages [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from orchestrator.errors import BadInput
from orchestrator.pages import generated
from orchestrator.terminal.exit_codes import explain

FOLDER = Path("docs/reference")


def main(arguments: list[str]) -> int:
    """Write every page that is not what it should be, and name it; returns the exit code."""
    folder = Path(arguments[0]) if arguments else FOLDER
    if not folder.is_dir():
        lack = "is no folder; run this where docs/ is, or name the folder"
        return explain(BadInput(str(folder), lack))
    for name, text in generated().items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
