"""Full or unwritable disks: detection, and the message for users."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from orchestrator.errors import OUT_OF_ROOM

NOT_WRITABLE = {
    *(errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.ENOENT, errno.ENOTDIR, errno.ELOOP),
}
"""Error codes that matter only together with the file that they concern."""


def is_full(error: OSError) -> bool:
    """Return whether the disk, a quota or the file size limit is exhausted."""
    # Arrow and others wrap the error of the system and keep only its text
    texts = (os.strerror(code) for code in OUT_OF_ROOM)
    return error.errno in OUT_OF_ROOM or any(text in str(error) for text in texts)


def disk_full_message(base: Path) -> str:
    """Message for a disk that is full below `base`."""
    try:
        free = shutil.disk_usage(base if base.exists() else base.parent).free
        left = f" ({free / 1e6:.1f} MB free)"
    except OSError:
        left = ""
    return f"{base}: no room left on the disk{left}; free some or choose another --out DIR"
