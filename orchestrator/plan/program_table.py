"""[programs.X]: programs that run on nodes, and the parsing of their commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from orchestrator.plan.field_types import Instant, Slug
from orchestrator.plan.plan_tables import Table

NODE = re.compile(r"\{([A-Za-z0-9][A-Za-z0-9_-]{0,62})\}")
"""In a command, `{b}` stands for the IPv4 address of node b."""
RDMA = re.compile(r"\{([A-Za-z0-9][A-Za-z0-9_-]{0,62})\.rdma\}")
"""And `{b.rdma}` for the name of the RDMA device of node b, where its traffic has `rdma`."""
NONE: Mapping[str, str] = {}
MOST_WORDS, LONGEST_WORD = 1000, 10_000


def _words(value: Any) -> list[str]:
    """The words of a command, given as a list or as one text that a shell would split so."""
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            raise ValueError(f"a command is expected; this one cannot be split: {error}") from None
    if not isinstance(value, list) or not 0 < len(value) <= MOST_WORDS:
        raise ValueError("a command is expected: a text, or a list of its words")
    if not all(isinstance(w, str) and len(w) <= LONGEST_WORD and "\0" not in w for w in value):
        raise ValueError("the words of a command are texts")
    if not value[0]:
        raise ValueError("a command begins with the name of a program")
    return list(value)


Command = Annotated[Any, AfterValidator(_words)]


class Program(Table):
    """A command that runs on a NIC node, without a shell; its traffic is the node's."""

    node: Slug
    """The NIC that it runs on."""
    command: Command
    """The program and its arguments; `{b}` stands for the IPv4 address of node b,
    `{b.rdma}` for the name of its RDMA device."""
    start: Instant = 0
    """Time at which it is started."""
    stop: Instant | None = None
    """Time of SIGTERM, if it has not ended by then; default: the end of the run."""

    def words(self, addresses: dict[str, str], rdma: Mapping[str, str] = NONE) -> list[str]:
        """The command with the addresses of nodes put in, and the names of `rdma` devices."""
        return [
            RDMA.sub(lambda name: rdma[name[1]], NODE.sub(lambda name: addresses[name[1]], word))
            for word in self.command
        ]
