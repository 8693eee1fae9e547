"""Former names of plan keys, parameters, plugins, plans and metrics, accepted for one release.

Declared once, where the current name is: `former` of a table's or a parameters' class and of an
`Algorithm`, `METRICS` and `PLANS` below. Input may use either name, not both; all that is written
has the current one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

REMOVED_IN = "0.4.0"
"""Release that no longer accepts the names declared here."""

PLANS = {"aside": "priority-demotion"}
"""Former name of a shipped plan -> current name."""

METRICS = {
    "frames.moved": "frames.reprioritized",
    "frames.resent": "frames.retransmitted",
    "storms.found": "storms.detected",
    "storms.over": "storms.restored",
    **{
        f"credits.waiting.{part}": f"receiver-credits.waiting.{part}"
        for part in ("mean", "sd", "min", "max", "p99")
    },
}
"""Former name of a metric -> current name, of the core and of the shipped plugins."""

_notes: ContextVar[list[str] | None] = ContextVar("former_names", default=None)
_keys: set[tuple[str, str]] = set()
_parameters: dict[str, dict[str, str]] = {}


@contextmanager
def collecting() -> Iterator[list[str]]:
    """Collects a note for every former name that is read within the block, each once."""
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def note(what: str, former: str, current: str) -> None:
    """Adds the note that `what` called `former` is now `current` to those being collected."""
    notes, text = _notes.get(), sentence(what, former, current)
    if notes is not None and text not in notes:
        notes.append(text)


def sentence(what: str, former: str, current: str) -> str:
    """Text for people about a former name that was used."""
    return f"{what} {former!r} is now {current!r}; {REMOVED_IN} no longer accepts the former name"


def both_text(former: str, current: str) -> str:
    """Error text for an input that gives a value by its former and by its current name."""
    return f"{former!r} is the former name of {current!r}, and both are given; leave {former!r} out"


def former_of(model: Any) -> dict[str, str]:
    """Former -> current names that a class and its bases declare."""
    found: dict[str, str] = {}
    for base in reversed(getattr(model, "__mro__", ())):
        found |= vars(base).get("former", {})
    return found


def check_declaration(model: Any, fields: Iterable[str]) -> None:
    """Refuses a declaration of a name that is in use, or for a name that is not. Raises
    TypeError."""
    names = set(fields)
    for former, current in former_of(model).items():
        if former in names or current not in names:
            raise TypeError(f"{model.__name__}.former: {former!r} is now {current!r}; that is no "
                            "field of it, or the former name still is one")  # fmt: skip


def clashes(table: Mapping[str, Any], former: Mapping[str, str]) -> list[tuple[str, str]]:
    """Former and current names of the values that a table gives by both."""
    return [(old, new) for old, new in former.items() if old in table and new in table]


def current_keys(table: Mapping[str, Any], former: Mapping[str, str], what: str) -> dict[str, Any]:
    """A table with current names alone. Raises ValueError where it gives both names of a value."""
    for old, new in clashes(table, former):
        raise ValueError(both_text(old, new))
    for old, new in former.items():
        if old in table:
            note(what, old, new)
    return {former.get(key, key): value for key, value in table.items()}


def current_metric(name: str) -> str:
    """The current name of a metric."""
    current = METRICS.get(name, name)
    if current != name:
        note("metric", name, current)
    return current


def declare_keys(former: Mapping[str, str]) -> None:
    """Makes former names of plan keys known to overlays of one plan's data over another's."""
    _keys.update(former.items())


def declare_parameters(plugins: Iterable[str], former: Mapping[str, str]) -> None:
    """As `declare_keys`, for parameters of the plugins of these names."""
    for plugin in plugins if former else ():
        _parameters.setdefault(plugin, {}).update(former)


def other_names(key: str, plugin: object) -> set[str]:
    """Names that stand for the same value as `key` in a plan's table, which names `plugin`."""
    own = _parameters.get(plugin, {}) if isinstance(plugin, str) else {}
    pairs = {*_keys, *own.items()}
    return {new for old, new in pairs if old == key} | {old for old, new in pairs if new == key}
