"""Runs a file's tests with the file imported from another text: `imported FILE TEXT`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.mutation.trying import imported

if __name__ == "__main__":
    path = Path(sys.argv[2])
    whole = path.read_text(encoding="utf-8")
    path.unlink()
    sys.exit(imported(sys.argv[1], whole))
