"""Lock on a folder that the operating system releases when its owner dies.

The folder itself is locked (`flock`), not a file in it: there is then no lock file to remove
before the folder gets its final name, and no moment when it looks abandoned. A process number
would not do: numbers are used again, and are different in every namespace.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no lock, and then nothing ever counts as abandoned
    fcntl = None  # type: ignore[assignment]

UNKNOWN_HERE = {errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL}
"""Error codes of file systems without such locks (NFS, for folders)."""


def acquire(folder: Path) -> int | None:
    """Lock `folder` and return the handle that holds it; None where there are no such locks.

    Raises BlockingIOError when another process holds it, FileNotFoundError when it was removed
    meanwhile, OSError when the file system knows no locks.
    """
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), os.stat(folder)):
            raise FileNotFoundError(folder)
    except OSError:
        os.close(handle)
        raise
    return handle


def release(handle: int | None) -> None:
    """Release a lock that `acquire` returned."""
    if handle is not None:
        os.close(handle)


@contextlib.contextmanager
def held_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder` around a block; wait while another process holds it.

    Without support for such locks it does not wait. Raises FileNotFoundError when there is no
    folder.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in UNKNOWN_HERE:
                raise
        yield
    finally:
        os.close(handle)


def is_free(folder: Path) -> bool:
    """Return whether the folder exists and is not locked."""
    if fcntl is None:
        return False
    try:
        release(acquire(folder))
    except OSError:
        return False
    return True
