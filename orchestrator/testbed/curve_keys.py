"""CURVE keys of controllers, agents and users: a folder with the own pair and the authorised keys.

    DIR/own.key            both halves of the own pair, readable by its owner alone
    DIR/own.pub            the public half, to be handed on
    DIR/authorised/*.pub   public keys that may connect here; all others are refused
    DIR/known/*.pub        public keys of controllers that one connects to

A key file is TOML: `name`, `public` and, in own.key, `secret`, in Z85 as ZeroMQ has them; the file
of a key that is let in may have a `role` (run, when it has none). A file with a secret that others
can read, and keys that others could add to or replace (they own them, or may write to a folder on
the way there), are refused.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path

from orchestrator import bounded_file, ownership
from orchestrator.errors import BadInput
from orchestrator.user_folders import CONFIG, user_folder

OWN, PUBLIC, AUTHORISED, KNOWN = "own.key", "own.pub", "authorised", "known"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
KEY = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")
"""32 octets in Z85."""
MOST_OCTETS = 2**16
"""Octets of a key file that are read; one has some 200."""


WATCH, RUN, ADMINISTER = "watch", "run", "administer"
ROLES = (WATCH, RUN, ADMINISTER)
"""What the holder of a key may do, each with what is before it: ask how things are and fetch; lease
and run, and end what is its own; end what is another's."""


class Caller(str):
    """Authenticated peer: its public key, with its name and role."""

    name: str
    role: str

    @classmethod
    def of(cls, public: str, name: str, role: str) -> Caller:
        """Caller with this key."""
        caller = cls(public)
        caller.name, caller.role = name, role
        return caller

    def may(self, role: str) -> bool:
        """Return whether the caller has this role, or a greater one."""
        return ROLES.index(self.role) >= ROLES.index(role)


def default_folder() -> Path:
    """Default folder of keys."""
    return user_folder(CONFIG) / "keys"


@dataclass(frozen=True)
class Pair:
    """Own key pair. `secret` is in no representation of it."""

    name: str
    public: str
    _secret: str

    def __repr__(self) -> str:
        return f"Pair({self.name!r}, {self.public!r})"

    @property
    def secret(self) -> bytes:
        """The half that stays here."""
        return self._secret.encode("ascii")


def make(folder: Path, name: str) -> Pair:
    """Make a pair in `folder`. Raises BadInput when there is one: keys are never overwritten."""
    import zmq

    _check_name(name)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for part in (AUTHORISED, KNOWN):
        (folder / part).mkdir(exist_ok=True, mode=0o700)
    if (folder / OWN).exists():
        raise BadInput(str(folder / OWN), "exists already; remove it first to make a new pair")
    public, secret = (half.decode("ascii") for half in zmq.curve_keypair())
    _write(folder / OWN, _text(name, public, secret), 0o600)
    _write(folder / PUBLIC, _text(name, public), 0o644)
    return Pair(name, public, secret)


def own(folder: Path) -> Pair:
    """The pair in `folder`. Raises BadInput: none there, unreadable, or readable by others."""
    path = folder / OWN
    if not path.exists():
        raise BadInput(str(path), "there is no key here; make one with `tailback keys make`")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise BadInput(
            str(path),
            f"others can get at this secret key (mode {mode:04o}); `chmod 600 {path}`, and make a "
            "new one if others may have read it",
        )
    _check_path(path)
    data = _load(path)
    secret = data.get("secret", "")
    if not isinstance(secret, str) or not KEY.fullmatch(secret):
        raise BadInput(str(path), "secret: 40 characters of Z85 are expected")
    return Pair(data["name"], data["public"], secret)


def authorise(
    folder: Path,
    source: str,
    name: str | None = None,
    kind: str = AUTHORISED,
    role: str = RUN,
) -> str:
    """Authorise a public key, given by a file or its 40 characters; returns its name."""
    _check_role("--role", role)
    if _is_key(source):
        if name is None:
            raise BadInput("tailback keys", "a key without a file needs --name NAME")
        public = source
    else:
        data = _load(Path(source))
        if "secret" in data:
            text = f"holds a secret key, which stays with its holder; hand on {PUBLIC} beside it"
            raise BadInput(source, text)
        public, name = data["public"], name or data["name"]
    _check_name(name)
    (folder / kind).mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / kind / f"{name}.pub"
    if path.exists():
        there = _load(path)
        if there["public"] != public:
            raise BadInput(str(path), "holds another key of that name; revoke it first")
        if kind == AUTHORISED and there.get("role", RUN) != role:
            raise BadInput(str(path), f"has the role {there.get('role', RUN)}; revoke it first")
    elif kind == AUTHORISED and (others := _files_of(folder, public)):
        raise BadInput(
            str(others[0]),
            f"holds this key already, and a key has one name; revoke {others[0].stem} first",
        )
    else:
        _write(path, _text(name, public, role=role if kind == AUTHORISED else None), 0o644)
    return name


def revoke(folder: Path, name: str) -> list[str]:
    """Revoke the key with a name, under all its names, which are returned: it can neither connect
    nor make requests on open connections."""
    _check_name(name)
    path = folder / AUTHORISED / f"{name}.pub"
    if not path.exists():
        raise BadInput(str(path), "there is no such authorised key")
    try:
        files = {path, *_files_of(folder, _load(path)["public"])}
    except BadInput:  # a damaged file
        files = {path}
    for file in files:
        file.unlink(missing_ok=True)
    return sorted(file.stem for file in files)


def _files_of(folder: Path, public: str) -> list[Path]:
    """Files of authorised keys that hold this key; damaged ones hold none."""
    found = []
    for path in sorted((folder / AUTHORISED).glob("*.pub")):
        try:
            if _load(path)["public"] == public:
                found.append(path)
        except BadInput:
            continue
    return found


def listed(folder: Path, kind: str = AUTHORISED) -> dict[str, str]:
    """Public key -> name of the authorised. Raises BadInput when others could add to them, or one
    cannot be read."""
    found = read_callers(folder, kind)
    if found.unreadable:
        raise BadInput(*next(iter(found.unreadable.items())))
    return {caller: caller.name for caller in found.callers().values()}


@dataclass(frozen=True)
class KeyList:
    """Callers by the name of their file, and files that could not be read, each with the reason."""

    by_file: dict[str, Caller]
    unreadable: dict[str, str]

    def callers(self) -> dict[str, Caller]:
        """Public key -> caller; of a key in several files the role that may least counts."""
        found: dict[str, Caller] = {}
        for caller in self.by_file.values():
            known = found.get(caller)
            if known is None or known.may(caller.role):
                found[str(caller)] = caller
        return found


def read_callers(folder: Path, kind: str = AUTHORISED, last: KeyList | None = None) -> KeyList:
    """Read the keys of a folder. A file that cannot be read, or is damaged, decides nothing: what
    `last` had of it counts on.

    Raises BadInput when others could add to them, OSError when the folder cannot be read.
    """
    place = folder / kind
    found, unreadable = dict[str, Caller](), dict[str, str]()
    if not place.exists():
        return KeyList(found, unreadable)
    _check_path(place)
    for file in sorted(name for name in os.listdir(place) if name.endswith(".pub")):
        path = place / file
        try:
            _check_path(path)
            data = _load(path)
            role = data.get("role", RUN)
            _check_role(str(path), role)
        except (FileNotFoundError, _Missing):  # revoked meanwhile
            continue
        except (OSError, _Damaged) as error:
            reason = error.strerror if isinstance(error, OSError) else error.reason
            unreadable[str(path)] = str(reason)
            if last is not None and file in last.by_file:
                found[file] = last.by_file[file]
            continue
        found[file] = Caller.of(data["public"], data["name"], role)
    return KeyList(found, unreadable)


def verify(folder: Path) -> None:
    """Check the folders above one of keys, once and for all (`ownership.verify`). Raises
    BadInput."""
    if (found := ownership.verify(folder)) is not None:
        raise BadInput(str(found[0]), found[1])


def _check_path(path: Path) -> None:
    """Raises BadInput when another user could put something else in the place of a file or folder:
    it, a folder or a link on the way to it is another's, or others may write to it."""
    if (found := ownership.exposure(path)) is not None:
        raise BadInput(str(found[0]), found[1])


class _Damaged(BadInput):
    """A key file that cannot be read, or has not what a key file has."""

    def __init__(self, path: str, reason: str) -> None:
        self.reason = reason
        super().__init__(path, reason)


class _Missing(_Damaged):
    """A key file that there is not, or no longer."""


def _check_role(where: str, role: object) -> None:
    if role not in ROLES:
        raise _Damaged(where, f"role {str(role)[:70]!r}: one of {', '.join(ROLES)} is expected")


def public_key(source: str) -> str:
    """The public key in a file, or given by its 40 characters."""
    return source if _is_key(source) else str(_load(Path(source))["public"])


def _is_key(source: str) -> bool:
    """Return whether a text is a key; the path of a file may have 40 such characters, too."""
    return KEY.fullmatch(source) is not None and not Path(source).is_file()


def _load(path: Path) -> dict[str, str]:
    try:
        data = tomllib.loads(bounded_file.read_text(path, MOST_OCTETS))
    except OSError as error:
        kind = _Missing if isinstance(error, FileNotFoundError) else _Damaged
        raise kind(str(path), f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise _Damaged(str(path), f"not a key file: {error}") from None
    public, name = data.get("public"), data.get("name")
    if not isinstance(public, str) or not KEY.fullmatch(public):
        raise _Damaged(str(path), "public: 40 characters of Z85 are expected")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise _Damaged(str(path), "name: letters, digits, '.', '_' and '-' are expected")
    return data


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadInput("name", f"{name[:70]!r}: letters, digits, '.', '_' and '-' are expected")


def _text(name: str, public: str, secret: str | None = None, role: str | None = None) -> str:
    fields = {"name": name, "public": public, "secret": secret, "role": role}
    return "".join(f'{key} = "{value}"\n' for key, value in fields.items() if value)


def _write(path: Path, text: str, mode: int) -> None:
    """Write a new file, of which no process sees a part, and which never was looser than `mode`.

    Raises FileExistsError where there is one.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(handle)
        os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
