"""Base class of targets: the operations that every target supports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from orchestrator.capability import Capability
from orchestrator.errors import BadInput, Refused

if TYPE_CHECKING:
    from orchestrator.algorithm import Algorithm
    from orchestrator.plan import Plan, ResolvedPlan
    from orchestrator.plan.target_options import TargetOptions
    from orchestrator.progress import Report
    from orchestrator.recording import Recording


class Cards(Protocol):
    """Source of a testbed's cards, such as `orchestrator.testbed.inventory.Testbed`."""

    @property
    def name(self) -> str:
        """Of the testbed."""

    @property
    def cards(self) -> Mapping[str, Any]:
        """Table of each card, by its name."""


class Interfaces(Protocol):
    """Owner and lender of the interfaces of this machine that lead to external devices, such as
    `orchestrator.testbed.inventory.Testbed`."""

    @property
    def external_ports(self) -> Mapping[str, Mapping[str, str]]:
        """External node -> its name of a port -> the interface of this machine that leads there."""

    def held(self, interfaces: Sequence[str]) -> AbstractContextManager[Mapping[str, Any]]:
        """Have some for this run alone, up and silent; what was set on each. All is put back when
        the block is left, and when this process is gone. Raises Refused, by name."""


class CoverageRecorder(Protocol):
    """Notes what runs reach of a target's own description of algorithms: see `Target.noting`."""

    def run(self, resolved: ResolvedPlan) -> int:
        """Run a plan that the target has checked; how many branches no plan before it reached."""

    def reached(self) -> dict[str, Any]:
        """Reached and missing branches.

        `kernels` and `node` have the numbers `branches`, `reached` and `excused`, `algorithms` has
        a table for each that the target runs, with `kind`, `name`, these numbers and the lists
        `missing`, `never` and `contradicted`.
        """


@dataclass(frozen=True)
class OptionalFeature:
    """Something that a target can use and does not need: for `tailback doctor`."""

    name: str
    what: str
    """In a line: what it is, as found."""
    lack: Refused | None
    """Why it is not to be had here, with the remedy."""


class Target(ABC):
    """A place where the nodes of a plan can live."""

    name: ClassVar[str]
    """Name in plans and `--target`."""
    summary: ClassVar[str]
    """In a line."""
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.KERNELS})

    @abstractmethod
    def probe(self) -> Refused | None:
        """Reason why this target cannot be used on this machine, and the remedy; None: it can."""

    def further(self) -> list[OptionalFeature]:
        """Optional features available here; called if `probe` has found nothing lacking."""
        return []

    def prepare(
        self, plan: Plan, options: TargetOptions, advise: bool = False
    ) -> tuple[Plan, dict[str, Any]]:
        """A plan as this target runs it by its options, and what the manifest says of that.

        Options that it carries out so are no longer in the plan (`Plan.without_options`).
        `advise`: also say on stderr what this machine may not hold. Raises BadInput or Refused.
        """
        return plan, {}

    @abstractmethod
    def run(self, resolved: ResolvedPlan, progress: Report, session: Any = None) -> Recording:
        """Run a plan. Raises Refused, BadInput or RunFailed.

        `resolved.options` are the options of this target, of the model that
        `tailback_target_options` contributes. There is a session
        (`orchestrator.live.live_session.Session`) only where the target is LIVE, or
        takes a pace, cores or a datapath, and a session watches, paces or bounds it.
        """

    def check(self, resolved: ResolvedPlan, installed: Iterable[Target]) -> None:
        """Raises Refused, by name, for what it lacks of what a plan asks for.

        `installed` are all targets, to say which would do. One that joins nodes which live in
        several places judges each by itself.
        """
        from orchestrator.plan import Sink

        for name, node in resolved.plan.nodes.items():
            if not isinstance(node, Sink) and node.target not in (None, self.name):
                raise Refused(
                    f"target {self.name}",
                    f"{name} wants to live on {node.target}, and it joins no other nodes",
                    f"Take the target out of nodes.{name}, or run the plan on gateware.",
                )
        self._check_devices(resolved)
        for kind, holders in resolved.uses.items():
            for holder, use in holders.items():
                if lacks := use.algorithm.lacks(self.capabilities):
                    raise Refused(
                        f"target {self.name}",
                        f"the {kind} {use.algorithm.name} of {holder} does not run on it, which "
                        f"lacks {' and '.join(lacks)}",
                        runs_on(use.algorithm, installed),
                    )

    def _check_devices(self, resolved: ResolvedPlan) -> None:
        """Raises Refused for an external node that this target neither joins nor stands in for."""
        from orchestrator.plan.external_nodes import externals

        if Capability.EXTERNAL in self.capabilities:
            return
        for name, node in externals(resolved.plan).items():
            if Capability.STAND_INS not in self.capabilities:
                raise Refused(
                    f"target {self.name}",
                    f"{name} is external, and it joins no devices of others",
                    f"Run it on software, or set nodes.{name}.kind to switch.",
                )
            if node.as_ is None:
                raise Refused(
                    f"target {self.name}",
                    f"{name} is external, and the plan does not say what it is like",
                    f'Say nodes.{name}.as = "switch" to have one in its place, or run it on '
                    "software.",
                )

    def noting(self) -> CoverageRecorder | None:
        """Notes what runs reach of what it has in the place of kernels; None: it has kernels, or
        there is nothing that could be noted of it."""
        return None

    def at(self, testbed: Cards) -> Target:
        """The same target on the cards of a testbed. Raises BadInput when it runs on none."""
        remedy = "cards are for the target gateware, machines for `tailback controller FILE`"
        raise BadInput("testbed", f"target {self.name} runs on no cards; {remedy}")


def fitting(algorithm: Algorithm, targets: Iterable[Target]) -> list[str]:
    """The names of those targets that can run an algorithm."""
    return sorted(each.name for each in targets if not algorithm.lacks(each.capabilities))


def runs_on(algorithm: Algorithm, installed: Iterable[Target]) -> str:
    """A sentence: which targets can run an algorithm."""
    return f"It runs on: {', '.join(fitting(algorithm, installed)) or 'none that is installed'}."
