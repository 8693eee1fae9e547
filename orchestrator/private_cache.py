"""Private caches: folders that no other user can write to, and contents with a proof of origin.

What lies in a cache is machine code that tailback links and calls, or a verdict that it believes.

- A cache is used where its folder and all above belong to this user or to the system and no other
  user may write to them (`ownership.exposure`, the rule for keys). New folders get mode 0700,
  whatever the umask. Otherwise the process uses a folder of its own, removed at its end, and says
  so once on stderr.
- Contents carry an HMAC (RFC 2104, SHA-256) over their name and their octets under a key of this
  user's. The key lies apart from the cache: a cache that was copied, restored or written by anyone
  else is ignored, and its contents are made again.

Processes that this one starts find both by the variables that it sets.
"""

from __future__ import annotations

import atexit
import functools
import hmac
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from orchestrator import ownership
from orchestrator.errors import BadInput
from orchestrator.user_folders import CACHE, STATE, user_folder

FOLDER, KEY = "TAILBACK_CACHE", "TAILBACK_CACHE_KEY"
"""Environment variables: the folder of caches, and the file of the key."""
KEY_OCTETS = 32
SEAL_OCTETS = 32
"""Length of an HMAC-SHA-256."""
_MODE = 0o700


def folder(name: str) -> Path:
    """The cache folder `name`, made if it is missing."""
    base = _base()
    found = usable(base / name)
    if not found.is_relative_to(base):
        os.environ[FOLDER] = str(_temporary())
    return found


@functools.cache
def usable(wanted: Path) -> Path:
    """The folder `wanted`, made if it is missing, or a private one in its place."""
    _key()  # first: without a key that lasts, no cache lasts
    if KEY in _replaced:
        return _private(wanted)
    try:
        path = made(wanted)
        found = ownership.exposure(path)
        if found is None and os.access(path, os.W_OK):
            return path
        reason = "nothing can be written to it" if found is None else f"{found[0]}: {found[1]}"
    except OSError as error:
        reason = str(error.strerror)
    _say(f"the cache {wanted} is not used: {reason}")
    return _private(wanted)


def _private(wanted: Path) -> Path:
    return made(_temporary() / wanted.name)


def sealed(name: str, content: bytes) -> bytes:
    """The content of a cache file `name` with its HMAC in front."""
    return _seal(name, content) + content


def opened(name: str, data: bytes) -> bytes | None:
    """The content of `sealed`; None unless this user's key sealed it under the same name."""
    content = data[SEAL_OCTETS:]
    return content if hmac.compare_digest(data[:SEAL_OCTETS], _seal(name, content)) else None


def _seal(name: str, content: bytes) -> bytes:
    """HMAC of a content; the length of the name keeps name and content apart."""
    octets = name.encode()
    return hmac.digest(_key(), len(octets).to_bytes(4, "big") + octets + content, "sha256")


_replaced: set[str] = set()
"""`KEY` if this process replaced the user's key with one that does not last."""


def _base() -> Path:
    """The folder of caches: the one that is named, or that of the XDG base directories."""
    if named := os.environ.get(FOLDER):
        return Path(named).absolute()
    return user_folder(CACHE)


def key_file() -> Path:
    """File of the key."""
    if named := os.environ.get(KEY):
        return Path(named).absolute()
    return user_folder(STATE) / "cache.key"


def _key() -> bytes:
    return _key_in(key_file())


@functools.cache
def _key_in(path: Path) -> bytes:
    try:
        return _read_key(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        _say(f"the key of caches {path} is not used: {reason}")
    own = _temporary() / "cache.key"
    os.environ[KEY], os.environ[FOLDER] = str(own), str(own.parent)
    _replaced.add(KEY)
    return _read_key(own)


def _read_key(path: Path) -> bytes:
    """The key in a file, made if it is missing. Raises OSError, or ValueError with the reason."""
    if not path.exists():
        _make_key(path)
    if (found := ownership.exposure(path)) is not None:
        raise ValueError(f"{found[0]}: {found[1]}")
    with open(path, "rb", opener=_open_at_once) as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise ValueError("it is no regular file")
        if stat.S_IMODE(state.st_mode) & 0o077 and os.name != "nt":
            raise ValueError(f"others can read it; `chmod 600 {path}`")
        key = file.read(KEY_OCTETS + 1)
    if len(key) != KEY_OCTETS:
        raise ValueError(f"it has not {KEY_OCTETS} octets; remove it")
    return key


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for a writer, as of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _make_key(path: Path) -> None:
    """Make a key, of which no process sees a part; the first of several processes wins."""
    made(path.parent)
    handle, new = tempfile.mkstemp(dir=path.parent, prefix=".cache.key-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(os.urandom(KEY_OCTETS))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(new, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            os.replace(new, path)
    finally:
        Path(new).unlink(missing_ok=True)


def made(path: Path) -> Path:
    """The folder `path`, made with all above that are missing, each with mode 0700, whatever the
    umask. Raises OSError."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    for one in reversed(missing):
        try:
            one.mkdir(mode=_MODE)
        except FileExistsError:
            if not one.is_dir():
                raise
    if not path.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(path))
    return path


@functools.cache
def _temporary() -> Path:
    """The private folder of this process and of those that it starts, removed at its end."""
    for base in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):
        try:
            if ownership.exposure(base) is not None:
                continue
            folder = Path(tempfile.mkdtemp(prefix="tailback-cache-", dir=base))  # mode 0700
        except OSError:
            continue
        atexit.register(_remove, folder, os.getpid())
        return folder
    raise BadInput(
        "TMPDIR",
        f"{tempfile.gettempdir()} is not safe: other users can replace what lies in it, or nothing "
        "can be written to it; a folder of this user, or /tmp, is expected",
    )


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _say(sentence: str) -> None:
    if sys.stderr is not None:
        print(
            f"tailback: {sentence}. A private cache is used in its place, and removed at the end; "
            "what it held is made again.",
            file=sys.stderr,
        )
