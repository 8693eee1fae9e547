"""Arrays aligned to cache lines, so that words used together are loaded together."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.compile_options import LINE_OCTETS, LINE_WORDS

WORD_OCTETS = LINE_OCTETS // LINE_WORDS


def words_by_lines(count: int) -> np.ndarray:
    """int64[count], all 0."""
    words = np.zeros(count + LINE_WORDS, np.int64)
    first = -words.ctypes.data % LINE_OCTETS // WORD_OCTETS
    return words[first : first + count]
