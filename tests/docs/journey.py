"""The functions that one data frame, one CNM and one run pass through, as they are called.

Run with NUMBA_DISABLE_JIT=1, where the engine is ordinary Python: a profile hook sees each call.
Prints {"data": [[depth, "module.function"], ...], "cnm": [...], "run": [[function, callers], ...]}:
of the frames every call that was handed the descriptor or gave it back, and those that led there,
in the order of the calls; of the run every function at its first call.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import numba

from orchestrator.cli.main import command_line
from orchestrator.plan import Plan
from orchestrator.terminal import exit_codes
from tests.orchestrator.worlds import MS, US, assembled, run_until

FOLLOWED = 3
"""Sequence of the data frame: some wait before it, so that the congestion point samples it."""
PACKAGES = ("orchestrator.engine.", "plugins.", "traffic.")
GUARDS = ("orchestrator.engine.kernel_limits", "orchestrator.engine.settable_fields")
"""Guards of kernels: only uncompiled are they calls."""
CODEC = "orchestrator.engine.frames.frame_codec."
"""What happens below its functions is field after field."""
GIVES_INDEX = ("take", "leave_host_queue", "leave_line", "pop_control")
"""Functions that return the descriptor of a frame."""

PLAN: dict[str, Any] = {
    "name": "journey",
    "duration": 2 * MS,
    "sample_interval": 2 * MS,
    "nodes": {
        "nic": {
            "kind": "nic",
            "reaction_point": {"plugin": "qcn-rp", "preset": "netfpga"},
            "reaction_time": 5 * US,
        },
        "switch": {
            "kind": "switch",
            "service_rate": 200_000_000,
            "congestion_point": {
                "plugin": "qcn-cp", "set_point": "64B", "sample_base": "64B", "jitter": False,
            },
        },
        "sink": {"kind": "sink"},
        "other": {"kind": "nic"},
    },
    "links": {
        "up": {"ends": ["nic", "switch"], "rate": 10**9, "delay": 50 * US},
        "down": {"ends": ["switch", "sink"], "rate": 10**9, "delay": US},
        # of a second link the sink's frames are not counted before they arrive
        "aside": {"ends": ["other", "sink"], "rate": 10**9},
    },
    "traffic": {
        "gen": {"plugin": "cbr", "from": "nic", "to": "sink", "rate": "0.5Gb/s"},
        # a NIC with more than eight flows at a port has events of its own
        "later": {
            "plugin": "cbr", "from": "nic", "to": "sink", "rate": "1Mb/s", "flows": 8,
            "start": 2 * MS - 1,
        },
    },
}  # fmt: skip


class Call:
    """One call, with those that it made."""

    def __init__(self, name: str, frame: FrameType) -> None:
        self.name, self.frame = name, frame
        self.calls: list[Call] = []
        self.carries: set[str] = set()
        """Whose descriptor it had: of the data frame, of the CNM."""


class Watch:
    """A profile hook that keeps the calls of one world's engine as a tree."""

    def __init__(self) -> None:
        self.root = Call("", sys._getframe())
        self.stack = [self.root]
        self.index: dict[str, int] = {}
        """Descriptors of what is followed, while it is under way."""

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(PACKAGES) or module in GUARDS:
            return
        if len(self.stack) > 1 and self.stack[-1].name.startswith(CODEC):
            self._within(frame, event)
        elif event == "call":
            call = Call(f"{module}.{frame.f_code.co_name}", frame)
            self.stack[-1].calls.append(call)
            self.stack.append(call)
            self._look(call)
        elif event == "return":
            self._left(self.stack.pop(), value)

    def _within(self, frame: FrameType, event: str) -> None:
        """The codec is at work: only that it has come back is of interest."""
        if event == "return" and frame is self.stack[-1].frame:
            self.stack.pop()

    def _look(self, call: Call) -> None:
        arguments = call.frame.f_code.co_varnames[: call.frame.f_code.co_argcount]
        given = {name: call.frame.f_locals[name] for name in arguments}
        if "w" not in given:
            given.pop("index", None)  # of something else than a frame
        for what, index in self.index.items():
            if given.get("index") == index or given.get("culprit") == index:
                call.carries.add(what)
            record = given.get("frame")
            if record is not None and record == given_frames(self.stack)[index]:
                call.carries.add(what)

    def _left(self, call: Call, value: Any) -> None:
        name = call.name.rpartition(".")[2]
        if name == "give_back":
            for what in call.carries:
                del self.index[what]
        if name not in GIVES_INDEX:
            return
        if name == "take":
            self._born(value)
        call.carries |= {what for what, index in self.index.items() if index == value}

    def _born(self, index: int) -> None:
        maker = self.stack[-1]
        place = maker.frame.f_locals
        if (
            maker.name.endswith(".host_queue.leave_host_queue")
            and place["flow"].frames_sent == FOLLOWED
        ):
            self.index["data"] = index
        if maker.name.endswith(".send_message_to_source") and place["culprit"] == self.index.get(
            "data"
        ):
            self.index["cnm"] = index


def given_frames(stack: list[Call]) -> Any:
    """The frames of the world that the calls at hand work on."""
    return next(c.frame.f_locals["w"].frames for c in reversed(stack) if "w" in c.frame.f_locals)


def journey(call: Call, what: str, depth: int = 0) -> list[tuple[int, str]]:
    """The calls below one that carried `what`, or led to one that did."""
    found = []
    for one in call.calls:
        below = journey(one, what, depth + 1)
        if below or what in one.carries:
            found += [(depth, one.name), *below]
    return found


def carried() -> dict[str, list[tuple[int, str]]]:
    """What happened to the data frame and to the CNM."""
    assembly, watch = assembled(PLAN), Watch()
    sys.setprofile(watch)
    run_until(assembly, MS)
    sys.setprofile(None)
    return {what: journey(watch.root, what) for what in ("data", "cnm")}


def from_the_command() -> list[tuple[str, list[str]]]:
    """Each function of ours that `tailback run` calls, at its first call, and who led there."""
    found: dict[str, list[str]] = {}
    stack: list[str] = []

    def watch(frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            name = f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}"
            if name.startswith(("orchestrator.", "traces.")):
                found.setdefault(name, [one for one in stack if one])
                stack.append(name)
            else:
                stack.append("")
        elif event == "return":
            stack.pop()

    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.toml"
        plan.write_text(Plan(**PLAN).to_toml(), encoding="utf-8")
        sys.setprofile(watch)
        code = command_line(["run", str(plan), "--out", folder, "--no-live", "--json"])
        sys.setprofile(None)
    assert code in (exit_codes.MET, exit_codes.MISSED), code
    return list(found.items())


def main() -> None:
    """Run the plan twice and print what was called."""
    if not numba.config.DISABLE_JIT:
        sys.exit("calls of compiled code are not seen: run it with NUMBA_DISABLE_JIT=1")
    found: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        found["run"] = from_the_command()  # first: the plugins are found once in a process
    found |= carried()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
