"""testbed.toml: which machines there are, how to reach them, and which cable joins which NICs.

name = "lab"

[machines.left]
address = "tcp://10.0.0.1:7010"
key = "left.pub"             # a file beside this one, or the 40 characters
nodes = ["nic1", "h{1..8}"]  # which nodes of plans belong here, when it is not all the same

[cables.c1]
ends = ["left:eth1", "right:eth1"]
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator import keys
from orchestrator.errors import BadInput, Problem
from orchestrator.mistakes import Clash, unknown
from orchestrator.translate import translate

Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")]
End = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}:[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}$")
]


class Table(BaseModel):
    """Base of all tables: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MachineEntry(Table):
    """One machine with an agent."""

    address: str = Field(pattern=r"^tcp://[^\s/]+:[0-9]+$")
    key: str = Field(min_length=1)
    nodes: list[Annotated[str, Field(min_length=1)]] = []
    """Names of nodes that are to live there; "*" stands for any run of characters."""


class Cable(Table):
    """A cable and the NICs at its ends, "machine:nic"."""

    ends: list[End] = Field(min_length=2, max_length=2)

    def split(self) -> list[tuple[str, str]]:
        """(machine, NIC) of both ends."""
        return [tuple(end.split(":", 1)) for end in self.ends]  # type: ignore[misc]


class Testbed(Table):
    """The inventory of a controller."""

    __test__ = False  # no class of tests

    name: Slug = "testbed"
    machines: dict[Slug, MachineEntry] = Field(min_length=1)
    cables: dict[Slug, Cable] = {}

    @classmethod
    def load(cls, path: Path) -> Self:
        """The testbed in a file, its keys read. Raises BadInput with every mistake in it."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise BadInput(str(path), f"cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise BadInput(str(path), f"not TOML: {error}") from None
        try:
            bed = cls.model_validate(data)
        except ValidationError as error:
            raise BadInput(str(path), translate(error, cls, data)) from None
        if problems := bed.problems():
            raise BadInput(str(path), problems)
        found = {name: _key(path, entry) for name, entry in bed.machines.items()}
        machines = {n: e.model_copy(update={"key": found[n]}) for n, e in bed.machines.items()}
        return bed.model_copy(update={"machines": machines})

    def problems(self) -> list[Problem]:
        """What does not go together."""
        found: list[Problem] = []
        taken: dict[str, str] = {}
        for name, cable in self.cables.items():
            for end, (machine, _) in zip(cable.ends, cable.split(), strict=True):
                if machine not in self.machines:
                    found.append(unknown(f"cables.{name}.ends", "machine", machine, self.machines))
                if end in taken:
                    text = f"{end} is an end of cable {taken[end]} too; a NIC has one cable"
                    found.append(Clash(f"cables.{name}.ends", end, text))
                taken.setdefault(end, name)
        return found


def _key(path: Path, entry: MachineEntry) -> str:
    if keys.KEY.fullmatch(entry.key):
        return entry.key
    return keys.public_key(str(path.parent / entry.key))
