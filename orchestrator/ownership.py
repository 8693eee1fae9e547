"""Owners of files: this user, the system, or another user; also inside a user namespace.

In a user namespace the kernel shows every owner without a number there as the overflow number
(65534, user_namespaces(7)): root's folders and those of any other user look alike. The rules:

- A file is this user's when its owner has this user's number and that number has a mapping. A
  process whose own number has none is shown as the overflow number, as is every stranger.
- A folder is the system's when root owns it; or when its owner has no number here and it is one of
  `SYSTEM`: only root can make these, in folders to which no other user may write, and a machine
  whose root gives one away has given away every user's files below it.
- Any other owner is another user. An owner without a number is one outside `SYSTEM`.

A path is safe (`exposure` finds nothing) when every folder and every link that the kernel follows
on the way belongs to this user or to the system and no other user may write to it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path

ROOT, EVERY_ID = 0, 2**32 - 1
OVERFLOW = 65534
"""The number of owners without a mapping where the kernel does not state another."""
_SYSTEM = """
    / /dev /dev/shm /etc /home /opt /run /run/user /srv /tmp /var /var/lib /var/tmp
"""
SYSTEM = frozenset(map(Path, _SYSTEM.split()))
"""Folders that the Filesystem Hierarchy Standard (3.0, clauses 3 to 5) and systemd
(file-hierarchy(7)) give to root."""
PROC = Path("/proc")


def user() -> int:
    """The number of this process's user; 0 where the operating system has none."""
    return os.getuid() if hasattr(os, "getuid") else ROOT


def is_mine(owner: int) -> bool:
    """True if files of an owner certainly belong to this user."""
    if owner != user():
        return False
    return owner != _overflow() or _mapped() == [(0, EVERY_ID)]


def is_system(path: Path, owner: int) -> bool:
    """True if a folder (absolute, without links) with this owner belongs to the system."""
    return owner == ROOT or (path in SYSTEM and lacks_number(owner))


def lacks_number(owner: int) -> bool:
    """True if an owner has no number in this namespace, so that it shows as the overflow number."""
    return owner == _overflow() and not any(
        first <= owner < first + count for first, count in _mapped()
    )


def stranger(owner: int) -> str:
    """An owner that is neither this user nor the system, for an error message."""
    if lacks_number(owner):
        return (
            f"belongs to a user without a number in this user namespace (shown as {owner}), which "
            "may be another user; use a folder of this user below /home, /tmp, /run/user or "
            "/var/tmp"
        )
    return f"belongs to another user (number {owner})"


_VERIFIED = set[Path]()
"""Folders that were found safe before this process entered a user namespace."""


def verify(path: Path) -> tuple[Path, str] | None:
    """The exposure of a path; the folders above one without count as safe from now on: in a user
    namespace the owners of most of them have no number."""
    found = exposure(path)
    if found is None:
        _VERIFIED.update(list(traversed(path))[:-1])
    return found


def exposure(path: Path) -> tuple[Path, str] | None:
    """The first part of a path that another user could replace, with the reason; None: none.

    Windows has no owners by number and no modes: nothing is found there. Raises OSError when a part
    cannot be looked at.
    """
    if os.name == "nt":
        return None
    for part in traversed(path):
        if part not in _VERIFIED and (reason := _exposed(part)) is not None:
            return part, reason
    return None


LINKS = 40
"""Links that Linux follows in one path (path_resolution(7))."""


def traversed(path: Path) -> Iterator[Path]:
    """All folders and links that the kernel looks up on the way to a path, and what lies there.

    Raises OSError: a part is missing, or links go round in circles.
    """
    absolute = path.absolute()
    here, waiting, links = Path(absolute.anchor), deque(absolute.parts[1:]), 0
    yield here
    while waiting:
        name = waiting.popleft()
        if name == "..":
            here = here.parent
            continue
        part = here / name
        yield part
        if not stat.S_ISLNK(part.lstat().st_mode):
            here = part
            continue
        links += 1
        if links > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = part.readlink()
        here = Path(target.anchor) if target.is_absolute() else here
        waiting.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))


def _exposed(part: Path) -> str | None:
    found = part.lstat()
    mode = stat.S_IMODE(found.st_mode)
    of_system = is_system(part, found.st_uid)
    if not of_system and not is_mine(found.st_uid):
        return stranger(found.st_uid)
    if stat.S_ISLNK(found.st_mode):  # a link has no mode: its folder protects it
        return None
    sticky = stat.S_ISDIR(found.st_mode) and mode & stat.S_ISVTX and of_system  # as /tmp is
    if mode & 0o022 and not sticky:
        return f"others can write to it (mode {mode:04o}); `chmod go-w {part}`"
    return None


def _overflow() -> int:
    try:
        return int((PROC / "sys/kernel/overflowuid").read_text(encoding="ascii"))
    except (FileNotFoundError, PermissionError, ValueError):
        return OVERFLOW


def _mapped() -> list[tuple[int, int]]:
    """The numbers that have a mapping: first and count; all where there are no namespaces."""
    try:
        lines = (PROC / "self/uid_map").read_text(encoding="ascii").splitlines()
    except FileNotFoundError:  # any other failure says nothing about owners, and is raised
        return [(0, EVERY_ID)]
    return [(int(first), int(count)) for first, _, count in map(str.split, lines)]
