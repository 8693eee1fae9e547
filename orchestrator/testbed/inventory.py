"""testbed.toml: machines, cards and external devices, and the cables between their NICs.

name = "lab"

[machines.left]
address = "tcp://10.0.0.1:7010"
key = "left.pub"             # a file beside this one, or the 40 characters
nodes = ["nic1", "h{1..8}"]  # which nodes of plans belong here, when it is not all the same
stamps = "hardware"          # timestamp source: software, hardware, auto; else the user-space clock
launch = true                # its NICs launch frames at their times; else false

[cables.c1]
ends = ["left:eth1", "right:eth1"]

[cards.fpga]
device = "/dev/mqnic0"       # or a PCIe device's folder or resource file below /sys
nodes = ["nic1", "nic2"]     # which nodes of plans its first, second, ... node serves

[external.sw]                # an external device between the nodes, cabled to this machine
ports = { nic = "eth1", sink = "eth2" }   # what the plan calls its ports, and our interfaces;
                             # or "left:eth1", where agents of several machines have them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import Clash, Missing, unknown
from orchestrator.plan.pydantic_errors import translate
from orchestrator.plan.toml_text import table_in
from orchestrator.testbed import curve_keys

Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")]
End = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}:[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}$")
]


class Table(BaseModel):
    """Base of all tables: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MachineEntry(Table):
    """Machine with an agent."""

    address: str = Field(pattern=r"^tcp://[^\s/]+:[0-9]+$")
    key: str = Field(min_length=1)
    nodes: list[Annotated[str, Field(min_length=1)]] = []
    """Names of nodes that are to live there; "*" stands for any run of characters."""
    stamps: Literal["software", "hardware", "auto"] | None = None
    """Who takes the times at which frames arrive and leave there (`tailback run --stamps`)."""
    launch: bool = False
    """Whether its NICs launch frames at their times (`tailback run --launch`)."""


class Cable(Table):
    """A cable and the NICs at its ends, "machine:nic"."""

    ends: list[End] = Field(min_length=2, max_length=2)

    def split(self) -> list[tuple[str, str]]:
        """(machine, NIC) of both ends."""
        return [tuple(end.split(":", 1)) for end in self.ends]  # type: ignore[misc]


class CardEntry(Table):
    """Card with tailback's gateware in this machine. The inventory has no cables of its ports."""

    device: str = Field(pattern=r"^/[^\s]+$")
    nodes: list[Slug] = Field(min_length=1)
    """The nodes of plans that its NICs and switches serve, in the order of their windows."""
    offset: int = Field(default=0, ge=0, multiple_of=4096)
    """Where the chain of windows begins in a resource file; no other device has it elsewhere."""
    bitstream: dict[str, int] = {}
    """What the card has to say of its bitstream, by field: git_hash = 0x1234."""


class ExternalEntry(Table):
    """External device, and the interfaces that lead to its ports: of this machine, or, with agents,
    "machine:nic"."""

    ports: dict[
        Slug,
        Annotated[
            str,
            Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,62}:)?[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}$"),
        ],
    ] = Field(min_length=1)


class Testbed(Table):
    """The inventory of a controller, and of a run on cards."""

    __test__ = False  # no class of tests

    name: Slug = "testbed"
    machines: dict[Slug, MachineEntry] = {}
    cables: dict[Slug, Cable] = {}
    cards: dict[Slug, CardEntry] = {}
    external: dict[Slug, ExternalEntry] = {}

    @property
    def external_ports(self) -> dict[str, dict[str, str]]:
        """External node -> its name of a port -> our interface that leads there."""
        return {name: dict(entry.ports) for name, entry in self.external.items()}

    def held(self, interfaces: Sequence[str]) -> AbstractContextManager[Mapping[str, Any]]:
        """Have some interfaces of this machine for one run: see
        `orchestrator.testbed.nic_guard`."""
        from orchestrator.testbed.nic_guard import guarded_nics

        return guarded_nics(interfaces)

    def with_cables(self, said: Sequence[str]) -> Self:
        """This testbed with cables to devices, DEVICE.PORT=INTERFACE each, besides and on top.

        Raises BadInput.
        """
        found = self.external_ports
        for one in said:
            place, _, interface = one.partition("=")
            device, _, port = place.partition(".")
            if not (device and port and interface):
                text = f"{one!r} is not accepted; DEVICE.PORT=INTERFACE is expected: sw.sink=eth2"
                raise BadInput("--external", text)
            found.setdefault(device, {})[port] = interface
        try:
            external = {name: ExternalEntry(ports=ports) for name, ports in found.items()}
            table = TypeAdapter(dict[Slug, ExternalEntry]).validate_python(external)
        except ValidationError as error:
            first = error.errors()[0]
            raise BadInput("--external", f"{first['input']!r}: {first['msg']}") from None
        return self.model_copy(update={"external": table})

    @classmethod
    def load(cls, path: Path) -> Self:
        """The testbed in a file, its keys read. Raises BadInput with every mistake in it."""
        data = table_in(path)
        try:
            bed = cls.model_validate(data)
        except ValidationError as error:
            raise BadInput(str(path), translate(error, cls, data)) from None
        if problems := bed.problems():
            raise BadInput(str(path), problems)
        found = {name: _key(path, entry) for name, entry in bed.machines.items()}
        machines = {n: e.model_copy(update={"key": found[n]}) for n, e in bed.machines.items()}
        return bed.model_copy(update={"machines": machines})

    def needs_machines(self, path: Path) -> Self:
        """Itself. Raises BadInput when it names none: a controller has nothing to do then."""
        if not self.machines:
            accepted = "[machines.NAME] is expected; a run on cards takes --testbed, no controller"
            raise BadInput(str(path), [Missing("machines", None, accepted)])
        return self

    def problems(self) -> list[Problem]:
        """Inconsistencies of the inventory."""
        found: list[Problem] = []
        if not self.machines and not self.cards and not self.external:
            accepted = "[machines.NAME], [cards.NAME] or [external.NAME] is expected"
            found.append(Missing("machines", None, accepted))
        served: dict[str, str] = {}
        for name, card in self.cards.items():
            for node in card.nodes:
                if node in served:
                    text = f"{node} is served by card {served[node]} already"
                    found.append(Clash(f"cards.{name}.nodes", node, text))
                served.setdefault(node, name)
        taken: dict[str, str] = {}
        for name, cable in self.cables.items():
            for end, (machine, _) in zip(cable.ends, cable.split(), strict=True):
                if machine not in self.machines:
                    found.append(unknown(f"cables.{name}.ends", "machine", machine, self.machines))
                if end in taken:
                    text = f"{end} is an end of cable {taken[end]} too; a NIC has one cable"
                    found.append(Clash(f"cables.{name}.ends", end, text))
                taken.setdefault(end, name)
        return [*found, *self._of_devices(taken)]

    def _of_devices(self, taken: dict[str, str]) -> list[Problem]:
        """Of interfaces on machines that lead to devices; `taken`: those that have a cable."""
        found: list[Problem] = []
        for device, entry in self.external.items():
            for port, end in entry.ports.items():
                machine, colon, _ = end.partition(":")
                where = f"external.{device}.ports.{port}"
                if not colon:
                    continue
                if machine not in self.machines:
                    found.append(unknown(where, "machine", machine, self.machines))
                if end in taken:
                    text = f"{end} is an end of {taken[end]} too; a NIC has one cable"
                    found.append(Clash(where, end, text))
                taken.setdefault(end, f"{device}.{port}")
        return found


def _key(path: Path, entry: MachineEntry) -> str:
    if curve_keys.KEY.fullmatch(entry.key):
        return entry.key
    return curve_keys.public_key(str(path.parent / entry.key))
