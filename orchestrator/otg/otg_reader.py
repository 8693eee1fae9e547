"""Reader of OTG messages: every field is taken, or refused by its path.

A message is the JSON form of the model, as a dict. `Reader` hands out its fields; `close` reports
those that nothing took, so a field of the model that this server does not implement is an error and
never ignored. Numbers of 64 bits are text in that form.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.errors import TailbackError

LARGEST = 2**63 - 1
SENTENCES, SENTENCE = 100, 500
"""Sentences of an error, and characters of one."""


class OtgError(TailbackError):
    """A request that cannot be served: a sentence for each field.

    `internal` says that the cause is this machine and not the request.
    """

    def __init__(self, sentences: Sequence[str], *, internal: bool = False) -> None:
        self.sentences = [
            one if len(one) <= SENTENCE else f"{one[: SENTENCE - 4]} ..."
            for one in sentences[:SENTENCES]
        ]
        if len(sentences) > SENTENCES:
            self.sentences.append(f"{len(sentences) - SENTENCES} more of the kind")
        self.internal = internal
        super().__init__("; ".join(self.sentences))

    @property
    def code(self) -> int:
        """HTTP status: 400 for the request, 500 for this machine."""
        return 500 if self.internal else 400

    def message(self) -> dict[str, Any]:
        """The error as OTG's `Error`."""
        kind = "internal" if self.internal else "validation"
        return {"code": self.code, "kind": kind, "errors": self.sentences}


class Reader:
    """Fields of one message at `path`, such as flows[0].rate; `problems` collects sentences."""

    def __init__(self, value: object, path: str, problems: list[str]) -> None:
        self.path, self.problems = path, problems
        self._fields = dict(value) if isinstance(value, Mapping) else {}
        if not isinstance(value, Mapping):
            self.refuse("", value, "a message is expected")

    def at(self, key: str) -> str:
        """Path of a field."""
        return f"{self.path}.{key}".lstrip(".") if key else self.path

    def refuse(self, key: str, value: object, accepted: str) -> None:
        """Record that the value of a field is not accepted."""
        self.problems.append(f"{self.at(key)}: {str(value)[:80]!r} is not accepted; {accepted}")

    def has(self, key: str) -> bool:
        """True if the field is given and was not taken."""
        return key in self._fields

    def take(self, key: str, default: Any = None) -> Any:
        """The value of a field as it stands."""
        return self._fields.pop(key, default)

    def child(self, key: str) -> Reader:
        """Message of a field; an empty one where it is not given."""
        return Reader(self.take(key, {}), self.at(key), self.problems)

    def children(self, key: str) -> Iterator[Reader]:
        """Messages of a repeated field."""
        for row, value in enumerate(self.items(key)):
            yield Reader(value, f"{self.at(key)}[{row}]", self.problems)

    def items(self, key: str) -> list[Any]:
        """Values of a repeated field."""
        found = self.take(key, [])
        if not isinstance(found, list):
            self.refuse(key, found, "a list is expected")
            return []
        return found

    def text(self, key: str, default: str = "") -> str:
        """Text of a field."""
        found = self.take(key, default)
        if not isinstance(found, str):
            self.refuse(key, found, "text is expected")
            return default
        return found

    def flag(self, key: str) -> bool:
        """Boolean of a field; false where it is not given."""
        found = self.take(key, False)
        if not isinstance(found, bool):
            self.refuse(key, found, "true or false is expected")
            return False
        return found

    def number(self, key: str, default: int, low: int = 0, high: int = LARGEST) -> int:
        """Integer of a field, within bounds (included)."""
        return int(self._number(key, default, low, high, whole=True))

    def real(self, key: str, default: float, low: float = 0.0, high: float = 1e15) -> float:
        """Number of a field, within bounds (included)."""
        return float(self._number(key, default, low, high, whole=False))

    def _number(self, key: str, default: Any, low: Any, high: Any, *, whole: bool) -> Any:
        given = self.take(key, default)
        try:
            value = int(given) if whole else float(given)
            wrong = isinstance(given, bool) or (whole and isinstance(given, float))
        except (TypeError, ValueError):
            wrong = True
        if wrong or not math.isfinite(value) or not low <= value <= high:
            kind = "an integer" if whole else "a number"
            self.refuse(key, given, f"{kind} from {low} to {high} is expected")
            return default
        return value

    def choice(self, options: Collection[str], default: str) -> str:
        """Name of the option that is chosen, by `choice` or by the one that is given."""
        given = [key for key in self._fields if key != "choice"]
        chosen = self.text("choice", given[0] if len(given) == 1 else default)
        if chosen not in options:
            self.problems.append(
                f"{self.at(chosen)} is not supported; {', '.join(options)} "
                + ("is" if len(options) == 1 else "are")
            )
            self._fields.clear()
            return default
        return chosen

    def close(self, *ignored: str) -> None:
        """Report the fields that nothing took, but for `ignored` and those that are off."""
        for key, value in self._fields.items():
            if key not in ignored and value is not False and value != []:
                self.problems.append(f"{self.at(key)} is not supported")
        self._fields.clear()
