"""Connection to a controller: its live runs, and runs that the console submits to it.

One thread keeps one connection. What is started there belongs to the controller: it goes on when
the console is left.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from pathlib import Path

import zmq.asyncio

from orchestrator.console.run_sources import LiveSource
from orchestrator.deferred_signals import deferred_signals
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.testbed import curve_keys
from orchestrator.testbed.controller import controller_client
from orchestrator.testbed.controller.controller_messages import (
    Follow,
    OfRun,
    Progress,
    State,
    Status,
    Submit,
)
from orchestrator.testbed.wire.rpc_client import Refusal, RpcClient, Unanswered

LOOK_S = 0.5
TARGET = "software"
"""What machines of a testbed can be."""


class ControllerSession(threading.Thread):
    """See the module. `folder` has our keys; `key` is the controller's (None: the one kept).

    Raises BadInput when keys or address are not right.
    """

    def __init__(self, address: str, folder: Path, key: str | None) -> None:
        super().__init__(name="site", daemon=True)
        if not address.startswith("tcp://") or ":" not in address[len("tcp://") :]:
            raise BadInput(
                "--controller", f"{address!r} is not accepted; tcp://host:port is expected"
            )
        self.address = address
        self.state = State(name="", machines=[], runs=[])
        self.why = "it has not answered yet"
        """Why nothing is known of it; empty when it answers."""
        self.version = 0
        self._pair, self._public = (
            curve_keys.own(folder),
            controller_client.controller_key(folder, key),
        )
        self._prepare = controller_client.curve_setup(folder, key)
        self._begun: list[ControllerRun] = []
        self._answered, self._ending = threading.Event(), threading.Event()

    def answers(self, within_s: float) -> bool:
        """Wait for what it says first, at most so long; False: it says nothing."""
        return self._answered.wait(within_s) and not self.why

    def source(self, number: str) -> LiveSource | None:
        """A run to be watched; None when it cannot be now."""
        feed = self.state.feeds.get(number)
        if feed is None:
            return None
        host, port = self.address.rpartition(":")[0], feed.rpartition(":")[2]
        return LiveSource(f"{host}:{port}", number, number, self._prepare)

    def begin(self, plan: Plan) -> ControllerRun:
        """Have a plan run there."""
        started = ControllerRun(self, plan.with_settings([f"target={TARGET}"], said=""))
        self._begun.append(started)
        return started

    def close(self) -> None:
        """Ask nothing any more."""
        with deferred_signals():
            self._ending.set()
            if self.ident is not None:
                self.join()

    def run(self) -> None:
        """Ask until closed."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        context = zmq.asyncio.Context()
        asker = RpcClient(context, "controller", self.address, self._public, self._pair)
        try:
            while not self._ending.is_set():
                why = ""
                try:
                    body, _ = await asker.ask(
                        "status", Status(), within_s=controller_client.PATIENCE_S
                    )
                    state = State.model_validate(body)
                    if state != self.state:
                        self.state, self.version = state, self.version + 1
                    for started in list(self._begun):
                        if await started.go_on(asker):
                            self._begun.remove(started)
                except (Unanswered, Refusal) as error:
                    why = str(error)
                    if isinstance(error, Unanswered) and error.rejected:
                        asker.reconnect()
                if why != self.why:
                    self.why, self.version = why, self.version + 1
                self._answered.set()
                await asyncio.sleep(LOOK_S)
        finally:
            asker.close()
            context.term()


class ControllerRun:
    """Run submitted to a controller. Its number makes a repeated submission safe."""

    def __init__(self, site: ControllerSession, plan: Plan) -> None:
        self._site = site
        self._number = secrets.token_hex(8)
        self._asked = Submit(run=self._number, plan=plan.to_toml(), source=plan.source)
        self._submitted = self._cancelling = False
        self._lines: list[str] = []
        self._lines_read = 0
        self.over: Progress | None = None
        """How it ended, once it has."""
        self._refused: str | None = None

    async def go_on(self, asker: RpcClient) -> bool:
        """Submit the run or poll its progress; True when it is over."""
        try:
            if not self._submitted:
                await asker.ask("submit", self._asked, within_s=controller_client.PATIENCE_S)
                self._submitted = True
            if self._cancelling:
                await asker.ask(
                    "cancel", OfRun(run=self._number), within_s=controller_client.PATIENCE_S
                )
                self._cancelling = False
            asked = Follow(run=self._number, after=len(self._lines))
            body, _ = await asker.ask("follow", asked, within_s=controller_client.PATIENCE_S)
        except Refusal as no:
            self._refused = no.sentence
            return True
        progress = Progress.model_validate(body)
        self._lines += progress.lines
        if progress.over:
            self.over = progress
        return progress.over

    def new_lines(self) -> list[str]:
        """New lines of what it says."""
        fresh = self._lines[self._lines_read :]
        self._lines_read += len(fresh)
        return fresh

    def source(self) -> LiveSource | None:
        """Live source of the run; None while it cannot be watched."""
        return self._site.source(self._number)

    def failure(self) -> str | None:
        """Why it ended, or did not begin, without a result; None when neither is so."""
        if self._refused is not None:
            return self._refused
        return self.over.error if self.over is not None else None

    def ended(self) -> bool:
        """Return whether the run is over, with or without a result."""
        return self.over is not None or self._refused is not None

    def run_folder(self) -> Path | None:
        """It lies at the controller; `tailback fetch` brings it."""
        return None

    def abort(self) -> None:
        """End it."""
        self._cancelling = True

    def close(self) -> None:
        """It goes on without us."""
