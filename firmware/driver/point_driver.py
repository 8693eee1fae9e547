"""Drivers of algorithms compiled from their kernels: words of their parameters and their state."""

from __future__ import annotations

from firmware.compiler.point_shell import STATE_WORD, PointShell
from firmware.driver.plan_records import Records
from firmware.driver.register_mirror import RegisterMirror
from orchestrator.engine.node_api import BIT_PS
from orchestrator.errors import Refused

WORD_MASK = (1 << 64) - 1
PATIENCE_OCTETS = 1_500
"""An event is late that waits longer than its queue or link takes for so many octets."""


class CompiledWindow:
    """Window of a compiled algorithm; `name` is that of its port or NIC."""

    def __init__(
        self, name: str, records: Records, mirror: RegisterMirror, shell: PointShell
    ) -> None:
        self.name, self.records, self.mirror, self.shell = name, records, mirror, shell
        self._params: dict[str, int] = {}

    def check(self, caps: int) -> None:
        """Raises Refused where the window's circuit is not that of the shell."""
        if caps != self.shell.digest:
            lack = f"it has other kernels than those of {self.shell.algorithm}"
            raise Refused(f"gateware of {self.name}", lack, "Build it again.")

    def write_state(self, instance: int) -> None:
        """Write the initial state of an instance."""
        for place, name in enumerate(self.shell.state):
            self._write(STATE_WORD | place, self.records.state(instance, name))

    def write_params(self, instance: int) -> None:
        """Write the parameters of an instance that changed."""
        for place, name in enumerate(self.shell.params):
            value = self.records.param(instance, name)
            if self._params.get(name) != value:
                self._write(place, value)
                self._params[name] = value

    def read_columns(self, instance: int) -> None:
        """Read the fields of the state that are sampled."""
        for column in self.shell.columns:
            self.records.show(instance, column, self._state(self.shell.state.index(column)))

    def _state(self, place: int) -> int:
        """A field of the state; its two words are read until they belong together."""
        self.mirror.window.set("word_index", STATE_WORD | place)
        value, last = self.mirror.window.get("state_word"), -1
        while value != last:
            value, last = self.mirror.window.get("state_word"), value
        return value - (value >> 63 << 64)

    def _write(self, place: int, value: int) -> None:
        self.mirror.window.set("word_index", place)
        self.mirror.window.set("word", value & WORD_MASK)

    def waiting(self) -> dict[str, int]:
        """Events, those that waited too long, and the longest wait in ps."""
        names = {"events": "events", "late": "late_events", "longest_wait_ps": "longest_wait"}
        counted = self.mirror.window.counters()
        return {shown: counted[name] for shown, name in names.items()}


class CompiledPoint(CompiledWindow):
    """The congestion point of one port. `instance` is its algorithm's instance, a row."""

    def apply(self, instance: int, queue, period: int) -> None:
        """Write parameters and rates that changed; `period`: ps of a clock."""
        events = self.shell.clocks
        self.mirror.want(
            arrivals_on=int("arrival" in events),
            departures_on=int("departure" in events),
            line_rate=int(queue.line_rate),
            service_rate=int(queue.service_rate),
            patience=PATIENCE_OCTETS * BIT_PS // int(queue.service_rate),
            gated=int(self.shell.gates),
            allowance=self.shell.hold_clocks * period,
        )
        self.write_params(instance)

    def read(self, instance: int, queue) -> None:
        """Read latched counters, and the state's fields that are sampled, into the rows."""
        counted = self.mirror.window.held()
        queue.feedback_sent = counted["messages"]
        queue.frames_marked = counted["marked"]
        queue.frames_dropped_early = counted["dropped"] + counted["dropped_leaving"]
        queue.frames_in += counted["dropped"]
        queue.frames -= counted["dropped_leaving"]
        self.read_columns(instance)

    def waiting(self) -> dict[str, int]:
        """As of every window; with frames that wait at their departure, how long they did."""
        held = {"longest_hold_ps": self.mirror.window.counters()["longest_hold"]}
        return super().waiting() | (held if self.shell.gates else {})

    def losses(self) -> int:
        """Frames that found no room before the congestion point."""
        return self.mirror.window.counters()["lost_events"]


class CompiledLimiters(CompiledWindow):
    """The reaction points of a NIC's port."""

    def begin(self, number: int, instance: int) -> None:
        """Write the initial state of a limiter; it is cleared."""
        self.mirror.want(limiter=number)
        self.write_state(instance)

    def apply(self, limiter) -> None:
        """Write parameters and the link's rate, as far as they changed."""
        rate = int(limiter.link_rate)
        self.mirror.want(link_rate=rate, patience=PATIENCE_OCTETS * BIT_PS // rate)
        self.write_params(limiter.algorithm)

    def read(self, number: int, instance: int) -> None:
        """Read the fields of a limiter's state that are sampled."""
        if self.shell.columns:
            self.mirror.want(limiter=number)
            self.read_columns(instance)
