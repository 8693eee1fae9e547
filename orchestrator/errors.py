"""Errors shown to users, one class per exit code of the command line.

Every message is a sentence that names the offender (file, key, value) and what would be
accepted; none of them is shown as a traceback.
"""

from __future__ import annotations

import errno
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
        count = len(self.problems)
        lines = [_problem_text(problem) for problem in self.problems[:MOST_SHOWN]]
        if count > MOST_SHOWN:
            lines.append(f"  and {count - MOST_SHOWN} more problems")
        text = problems if isinstance(problems, str) else "\n".join(lines)
        head = f"{source}: " if not count else f"{source}: {count} problem{'s' * (count > 1)}\n"
        super().__init__(head + text)


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
