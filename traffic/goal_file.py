"""Reader of GOAL files: operations of every rank, and which of them wait for which.

GOAL (Hoefler, Siebert, Lumsdaine, ICPP 2009: Group Operation Assembly Language) is the input of
LogGOPSim and its successors, and what traces of MPI and NCCL are turned into. A file has a line
`num_ranks N` and a block for each rank, with an operation or a dependency on a line:

    rank 0 {
      s: send 4096b to 1 tag 7
      r: recv 4096b from 1
      c: calc 1500
      c requires r
    }

`calc` is a number of ns. `tag`, `cpu` and `nic` may follow; without them they are 0. The comments
are those of C. A label holds within its block, before and behind the line that it stands on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from tailback.plugin import BadInput, Problem, cached_per_file

RANK, KIND, PEER, AMOUNT, TAG, LINE = range(6)
COLUMNS = 6
SEND, RECV, CALC, REQUIRES, IREQUIRES = range(5)
"""Kinds of rows. Of a dependency PEER is the row that waits, AMOUNT the row that it waits for."""
MOST_ROWS = 20_000_000
"""Of a file, operations and dependencies: 1 GB of numbers."""
MOST_RANKS = 1 << 20
MOST_SIZE = 10**12
"""Octets of a message."""
MOST_CALC = 3600 * 10**9
"""ns: the longest run."""
OPERATIONS = {"send": SEND, "recv": RECV, "calc": CALC}
ACCEPTED = (
    "a line such as 'a: send 64b to 1 tag 0', 'b: recv 64b from 1', 'c: calc 100' or "
    "'a requires b' is expected"
)

_OPERATION = re.compile(
    r"(?:(?P<label>[A-Za-z]\w*)\s*:\s*)?"
    r"(?:(?P<kind>send|recv)\s+(?P<size>\d+)\s*b\s+(?P<way>to|from)\s+(?P<peer>-1|\d+)"
    r"|calc\s+(?P<time>\d+))"
    r"(?:\s+tag\s+(?P<tag>-1|\d+))?(?:\s+cpu\s+\d+)?(?:\s+nic\s+\d+)?"
)
_DEPENDENCY = re.compile(r"([A-Za-z]\w*)\s+(i?requires)\s+([A-Za-z]\w*)")
_RANK = re.compile(r"rank\s+(\d+)\s*\{")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class GoalFile:
    """Operations and dependencies of a file."""

    ranks: int
    rows: np.ndarray
    """int64[rows, COLUMNS], in the order of the file: rank, kind, peer, octets or ns, tag, line."""


@cached_per_file
def read_goal_file(path: str) -> GoalFile:
    """The operations of a file. Raises BadInput with the first line that cannot be used."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(path, f"cannot be read: {reason}") from None
    return _Reader(path).read(_COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text))


def line_problem(path: str, line: int, value: object, accepted: str) -> BadInput:
    """An error about one line of a file."""
    shown = value[:57] + "..." if isinstance(value, str) and len(value) > 60 else value
    return BadInput(path, [Problem("line", shown, accepted, at=f"{path}:{line}")])


@dataclass
class _Reader:
    """What was read so far."""

    path: str
    ranks: int = 0
    rank: int | None = None
    begun: set[int] = field(default_factory=set)
    rows: list[tuple[int, ...]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    waits: list[tuple[int, int, str, str, int]] = field(default_factory=list)
    """Dependencies of the block: kind, row, label that waits, label that it waits for, line."""

    def read(self, text: str) -> GoalFile:
        number = 0
        for number, line in enumerate(text.split("\n"), 1):
            if stripped := line.strip():
                self._line(number, stripped)
        if self.rank is not None:
            self._refuse(number, "the end of the file", f"rank {self.rank} {{ has no closing }}")
        if not any(row[KIND] == SEND for row in self.rows):
            raise BadInput(self.path, f"has no send; {ACCEPTED}")
        return GoalFile(self.ranks, np.array(self.rows, np.int64))

    def _refuse(self, line: int, value: object, accepted: str) -> NoReturn:
        raise line_problem(self.path, line, value, accepted)

    def _line(self, number: int, text: str) -> None:
        if len(self.rows) + len(self.waits) > MOST_ROWS:
            raise BadInput(self.path, f"has more than {MOST_ROWS} operations and dependencies")
        if text.startswith("num_ranks"):
            self._count(number, text)
        elif self.rank is None:
            self._begin(number, text)
        elif text == "}":
            self._end()
        elif found := _DEPENDENCY.fullmatch(text):
            kind = REQUIRES if found[2] == "requires" else IREQUIRES
            self.waits.append((kind, len(self.rows), found[1], found[3], number))
        elif found := _OPERATION.fullmatch(text):
            self._operation(number, text, found)
        else:
            self._refuse(number, text, ACCEPTED)

    def _count(self, number: int, text: str) -> None:
        found = re.fullmatch(r"num_ranks\s+(\d+)", text)
        if found is None or self.ranks or not 1 <= len(found[1]) <= 9:
            self._refuse(number, text, "one line 'num_ranks N' is expected, before all ranks")
        self.ranks = int(found[1])
        if not 2 <= self.ranks <= MOST_RANKS:
            self._refuse(number, text, f"2 to {MOST_RANKS} ranks are expected")

    def _begin(self, number: int, text: str) -> None:
        found = _RANK.fullmatch(text)
        if found is None or len(found[1]) > 9:
            self._refuse(number, text, "'rank N {' is expected")
        rank = int(found[1])
        if rank >= self.ranks:
            most = f"num_ranks is {self.ranks}" if self.ranks else "'num_ranks N' has to come first"
            self._refuse(number, text, f"a rank below num_ranks is expected; {most}")
        if rank in self.begun:
            self._refuse(number, text, f"one block for each rank is expected; {rank} has one")
        self.begun.add(rank)
        self.rank = rank

    def _end(self) -> None:
        """The end of a block: its labels become rows."""
        assert self.rank is not None
        for kind, _, waiting, awaited, line in self.waits:
            for label in (waiting, awaited):
                if label not in self.labels:
                    self._refuse(line, label, f"a label of rank {self.rank} is expected")
            pair = self.labels[waiting], self.labels[awaited]
            if pair[0] == pair[1]:
                self._refuse(line, waiting, "an operation cannot wait for itself")
            self.rows.append((self.rank, kind, *pair, 0, line))
        self.rank = None
        self.labels.clear()
        self.waits.clear()

    def _operation(self, number: int, text: str, found: re.Match[str]) -> None:
        assert self.rank is not None
        kind = OPERATIONS[found["kind"] or "calc"]
        amount = found["size"] or found["time"]
        most = MOST_CALC if kind == CALC else MOST_SIZE
        if len(amount) > 13 or int(amount) > most:
            self._refuse(number, text, f"at most {most} {'ns' if kind == CALC else 'octets'}")
        peer, tag = found["peer"] or "-1", found["tag"] or "0"
        if kind != CALC:
            if (found["way"] == "to") != (kind == SEND):
                self._refuse(number, text, ACCEPTED)
            if "-1" in (peer, tag):
                self._refuse(
                    number, text, "a rank and a tag are expected; -1 (any) is not followed"
                )
            if len(peer) > 9 or int(peer) >= self.ranks:
                self._refuse(number, text, f"a rank below {self.ranks} is expected")
        if len(tag) > 18:
            self._refuse(number, text, "a tag below 10^18 is expected")
        if (label := found["label"]) is not None:
            if label in self.labels:
                self._refuse(number, label, f"rank {self.rank} has this label already")
            self.labels[label] = len(self.rows)
        self.rows.append((self.rank, kind, int(peer), int(amount), int(tag), number))
