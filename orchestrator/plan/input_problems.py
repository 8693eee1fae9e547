"""Problems of an input, in words: location, value found, value accepted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from orchestrator.errors import Problem


@dataclass(frozen=True)
class Missing(Problem):
    """A key that has to be there and is not."""

    def __str__(self) -> str:
        return f"{self.where}: missing; {self.accepted}"


@dataclass(frozen=True)
class Unknown(Problem):
    """A key or name that nothing knows; `value` is the key."""

    def __str__(self) -> str:
        return f"{self.where}: unknown {self.value}; {self.accepted}"


@dataclass(frozen=True)
class Clash(Problem):
    """Values that are right one by one and do not go together."""

    def __str__(self) -> str:
        return f"{self.where}: {self.accepted}"


class _Shape(str):
    """Stands for a value that is too large to show."""

    def __repr__(self) -> str:
        return str(self)


def shown(value: object) -> object:
    """The value, or a few words in its place when it would fill the screen."""
    if isinstance(value, dict):
        return _Shape("a table")
    if isinstance(value, list | tuple):
        return _Shape("a list")
    if isinstance(value, str) and len(value) > 60:
        return value[:57] + "..."
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**20:
        return _Shape("a number of more than 20 digits")
    if isinstance(value, str | int | float | bool | None):
        return value
    return _Shape(f"a {type(value).__name__}")


def near(name: str, known: Iterable[str], former: Mapping[str, str] | None = None) -> str:
    """Advice for an unknown name: similar names, else all of them.

    A name that is similar to a former one is given the current name, `former` has both.
    """
    names = sorted(islice(known, 2000))
    if not names:
        return "there are none"
    former = former or {}
    close = difflib.get_close_matches(name[:60], [*names, *former], n=3, cutoff=0.6)
    if close:
        meant = dict.fromkeys(former.get(each, each) for each in close)
        return f"did you mean {' or '.join(meant)}?"
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"known: {listed}"


def unknown(
    where: str,
    what: str,
    name: str,
    known: Iterable[str],
    former: Mapping[str, str] | None = None,
) -> Unknown:
    """A name that is not among `known`; `what` is the kind of thing it should name."""
    return Unknown(where, f"{what} {shown(name)!r}", near(name, known, former))


def dotted(parts: Sequence[int | str]) -> str:
    """A key path as in a plan: nodes.switch.buffer, timeline[0].at."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{shown(part)}" if text else str(part)
    return text


def join(where: str, key: str) -> str:
    """The path of a key below `where`, which may be empty."""
    return f"{where}.{key}" if where and key else where or key
