"""Binding to the compiled loop over Verilated nodes. Times are ps, lengths octets."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FRAME_OCTETS = 128
"""Octets of a frame that are exchanged with the host."""
BATCH = 4096
SIGNALS = 25
FUNCTIONS = (
    "model_eval",
    "model_clock",
    "model_rest_period",
    "model_state_octets",
    "model_mark",
    "model_rest",
    "model_pass",
)
"""Functions of a model that the fabric calls, in the order of `Functions` in fabric.cpp."""
ACCESS_CLOCKS = 200
"""Clocks after which a register access counts as unanswered."""

_I64, _INT, _PTR = ctypes.c_int64, ctypes.c_int, ctypes.c_void_p


@dataclass
class TransmittedFrames:
    """Transmitted frames: rows of arrays, `count` of them."""

    count: int
    directions: np.ndarray
    due: np.ndarray
    lengths: np.ndarray
    octets: np.ndarray


class Fabric:
    """Nodes joined by links. Time starts with `start`; registers work before.

    `cores`: threads that clock nodes in parallel; results are the same for any number. `skips`:
    clocks in which nothing happens are not evaluated; results are the same without.
    """

    def __init__(self, library: Path, period: int, cores: int = 1, *, skips: bool = True) -> None:
        self._c = c = ctypes.CDLL(str(library))
        for name, result, arguments in (
            ("fabric_new", _PTR, [_I64, _INT, _INT]),
            ("fabric_delete", None, [_PTR]),
            ("fabric_node", _INT, [_PTR, _PTR, _PTR, _PTR, _INT]),
            ("fabric_link", _INT, [_PTR, *[_INT] * 4, *[_I64] * 3, _INT, _INT]),
            ("fabric_set_link", None, [_PTR, _INT, _I64, _I64, _INT]),
            ("fabric_link_counts", None, [_PTR, _INT, _PTR]),
            ("fabric_access", None, [_PTR, _INT, _INT, ctypes.c_uint32, ctypes.c_uint32]),
            ("fabric_answer", _I64, [_PTR, _INT]),
            ("fabric_send", None, [_PTR, _INT, _I64, _I64, _PTR, _I64]),
            ("fabric_take", _I64, [_PTR, _I64, _PTR, _PTR, _PTR, _PTR]),
            ("fabric_start", None, [_PTR]),
            ("fabric_clocks", _I64, [_PTR]),
            ("fabric_skipped", _I64, [_PTR]),
            ("fabric_run", _I64, [_PTR, _I64, _INT]),
        ):
            function = getattr(c, name)
            function.restype, function.argtypes = result, arguments
        self.period = period
        self._f = c.fabric_new(period, cores, int(skips))
        self._models: list[tuple[ctypes.CDLL, int]] = []
        self._directions = np.zeros(BATCH, np.int32)
        self._due = np.zeros(BATCH, np.int64)
        self._lengths = np.zeros(BATCH, np.int64)
        self._octets = np.zeros((BATCH, FRAME_OCTETS), np.uint8)

    def close(self) -> None:
        """Free all nodes; nothing may be called after that."""
        self._c.fabric_delete(self._f)
        for library, model in self._models:
            library.model_delete(model)
        self._models.clear()

    def add(self, library: Path, ports: int) -> int:
        """Add a node of a built model; returns its number."""
        c = ctypes.CDLL(str(library))
        c.model_new.restype, c.model_new.argtypes = _PTR, [_PTR]
        c.model_delete.argtypes = [_PTR]
        signals = (ctypes.c_void_p * SIGNALS)()
        model = c.model_new(ctypes.cast(signals, _PTR))
        self._models.append((c, model))
        functions = (ctypes.c_void_p * len(FUNCTIONS))(
            *(ctypes.cast(getattr(c, name), _PTR).value for name in FUNCTIONS)
        )
        number: int = self._c.fabric_node(
            self._f, model, ctypes.cast(functions, _PTR), ctypes.cast(signals, _PTR), ports
        )
        return number

    def write_coverage(self, folder: Path) -> list[Path]:
        """Write the line and branch counts of each node, a file for each.

        Its models must have been built with `counts`.
        """
        found = []
        for number, (library, model) in enumerate(self._models):
            library.model_write_coverage.argtypes = [_PTR, ctypes.c_char_p]
            library.model_write_coverage.restype = None
            found.append(folder / f"{number}.dat")
            library.model_write_coverage(model, str(found[-1]).encode())
        return found

    def link(
        self,
        sender: tuple[int, int] | None,
        receiver: tuple[int, int] | None,
        *,
        rate: int,
        delay: int,
        overhead: int,
        words: int,
        reported: bool,
    ) -> int:
        """Add a direction between (node, port)s; None: the world's side. Returns its number.

        `words`: capacity of the sender's transmitter; `reported`: see `take`.
        """
        ends = (*(sender or (-1, 0)), *(receiver or (-1, 0)))
        number: int = self._c.fabric_link(
            self._f, *ends, rate, delay, overhead, words, int(reported)
        )
        return number

    def set_link(self, number: int, rate: int, delay: int, up: bool) -> None:
        """Change a direction, from the next frame on."""
        self._c.fabric_set_link(self._f, number, rate, delay, int(up))

    def link_counts(self, number: int) -> tuple[int, int, int]:
        """Counts of a direction: frames, frames lost by a cut, words that came too late."""
        counts = np.zeros(3, np.int64)
        self._c.fabric_link_counts(self._f, number, counts.ctypes.data)
        return int(counts[0]), int(counts[1]), int(counts[2])

    def start(self) -> None:
        """Start time at 0."""
        self._c.fabric_start(self._f)

    @property
    def clocks(self) -> int:
        """Clocks so far, those before `start` too."""
        return int(self._c.fabric_clocks(self._f))

    @property
    def skipped(self) -> int:
        """Clocks of nodes that were not evaluated, since nothing happened in them."""
        return int(self._c.fabric_skipped(self._f))

    def run(self, until: int, *, accesses: bool = False) -> int:
        """Clock all nodes up to a time, or (`accesses`) until register accesses end; returns the
        time."""
        return int(self._c.fabric_run(self._f, until, int(accesses)))

    def send(self, number: int, due: int, length: int, octets: np.ndarray) -> None:
        """Deliver a frame of the world at the end of a direction at `due`; zeros follow
        `octets`."""
        self._c.fabric_send(self._f, number, due, length, octets.ctypes.data, octets.size)

    def take(self) -> TransmittedFrames:
        """Frames transmitted since the last call, in the order of their last words."""
        count = self._c.fabric_take(
            self._f,
            BATCH,
            self._directions.ctypes.data,
            self._due.ctypes.data,
            self._lengths.ctypes.data,
            self._octets.ctypes.data,
        )
        return TransmittedFrames(
            int(count), self._directions, self._due, self._lengths, self._octets
        )

    def bus(self, node: int, advance: Callable[[], None]) -> ModelBus:
        """The register bus of a node; `advance` clocks until accesses are answered."""
        return ModelBus(self, node, advance)

    def ask(self, node: int, write: bool, address: int, value: int = 0) -> None:
        """Queue a register access."""
        self._c.fabric_access(self._f, node, int(write), address, value)

    def answered(self, node: int) -> int | None:
        """Result of the first finished access; None without one."""
        value = int(self._c.fabric_answer(self._f, node))
        return None if value < 0 else value


class ModelBus:
    """32-bit accesses to a node's registers; each takes some clocks of the fabric."""

    def __init__(self, fabric: Fabric, node: int, advance: Callable[[], None]) -> None:
        self._fabric, self._node, self._advance = fabric, node, advance

    def _access(self, write: bool, address: int, value: int = 0) -> int:
        self._fabric.ask(self._node, write, address, value)
        for _ in range(ACCESS_CLOCKS):
            self._advance()
            if (answer := self._fabric.answered(self._node)) is not None:
                return answer
        raise RuntimeError(f"register {address:#x} of node {self._node} does not answer")

    def read(self, address: int) -> int:
        """The 32-bit word at an address."""
        return self._access(False, address)

    def write(self, address: int, value: int) -> None:
        """Set the 32-bit word at an address."""
        self._access(True, address, value)
