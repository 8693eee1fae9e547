"""Options common to all compiled functions."""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Off the GIL, without reference counts (and so without allocation)."""

LINE_OCTETS = 64
"""Of a line of the caches, on nearly all machines."""
LINE_WORDS = LINE_OCTETS // 8
