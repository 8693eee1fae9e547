"""Errors shown to users, one class per exit code of the command line.

Every message is a sentence that names the offender (file, key, value) and what would be
accepted; none of them is shown as a traceback.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass, field

OUT_OF_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of the system when a disk is full; libraries often raise them without a file name."""


class TailbackError(Exception):
    """Base of all errors that are shown to the user as a sentence."""

    exit_code = 2


@dataclass(frozen=True)
class Problem:
    """One mistake in an input: where it is, what was found, what would be accepted."""

    where: str
    value: object
    accepted: str
    at: str = field(default="", compare=False)
    """Its file and line, where they are known."""

    def __str__(self) -> str:
        return f"{self.where}: {self.value!r} is not accepted; {self.accepted}"


MOST_SHOWN = 100
"""Problems of an input that its message lists."""


class BadInput(TailbackError):
    """A plan, parameter or argument that cannot be used. Carries every problem found; its message
    lists the first `MOST_SHOWN`."""

    def __init__(self, source: str, problems: list[Problem] | str) -> None:
        self.source = source
        self.problems = problems if isinstance(problems, list) else []
        lines = _lines(self.problems)
        count = len(lines)
        if count > MOST_SHOWN:
            lines[MOST_SHOWN:] = [f"  and {count - MOST_SHOWN} more problems"]
        text = problems if isinstance(problems, str) else "\n".join(lines)
        head = f"{source}: " if not count else f"{source}: {count} problem{'s' * (count > 1)}\n"
        super().__init__(head + text)


SINGLY = 3
"""Up to so many entities that share a mistake are named in a line each."""


def _lines(problems: list[Problem]) -> list[str]:
    """A line for each mistake; one that a template or range brings to many entities has one line,
    with their number."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    places: dict[tuple[str, str], str] = {}  # the lines of the first hundred alone are known
    for problem in problems:
        rest = str(problem).removeprefix(problem.where)
        alike = re.sub(r"\d+", "#", problem.where), rest
        place = places.setdefault(alike, problem.at) if not problem.at else problem.at
        places[alike] = place
        groups.setdefault((place or alike[0], rest), []).append(problem)
    lines: list[str] = []
    for of_one in groups.values():
        if len(of_one) <= SINGLY:
            lines += map(_problem_text, of_one)
            continue
        first, *others = of_one
        more = f"{len(others)} more, {others[0].where} to {others[-1].where}"
        lines.append(f"{_problem_text(first)} (and the same of {more})")
    return lines


def _problem_text(problem: Problem) -> str:
    return f"  {problem.at}: {problem}" if problem.at else f"  {problem}"


class Refused(TailbackError):
    """A target or plugin cannot do here what the plan asks. Names the lack and the remedy."""

    def __init__(self, who: str, lack: str, remedy: str) -> None:
        self.who, self.lack, self.remedy = who, lack, remedy
        super().__init__(f"{who}: {lack}. {remedy}")


class RunFailed(TailbackError):
    """A run that started and could not be finished; nothing of it stays behind."""

    exit_code = 3
