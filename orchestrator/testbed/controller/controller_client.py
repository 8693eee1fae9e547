"""Controller client of the command line: submit, follow, fetch, status."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import zmq.asyncio

from orchestrator.errors import BadInput, RunFailed
from orchestrator.plan import Plan
from orchestrator.progress import Progress as Report
from orchestrator.testbed import curve_keys
from orchestrator.testbed.agent.agent_messages import Force
from orchestrator.testbed.controller.controller_messages import (
    REMOTE,
    Follow,
    OfRun,
    Progress,
    Status,
    Submit,
)
from orchestrator.testbed.controller.run_download import download
from orchestrator.testbed.wire.rpc_client import Refusal, RpcClient, Unanswered
from orchestrator.testbed.wire.socket_monitor import State

LOOK_S = 0.2
PATIENCE_S = 5.0
BUSY_S = 120.0
"""For which a controller is asked that keeps its connection and does not answer."""
CONTROLLER = "controller"
"""Name under which the controller's public key is kept in `known`."""


def controller_key(folder: Path, given: str | None) -> str:
    """The public key of the controller: as given, or the one kept. Raises BadInput."""
    if given is not None:
        return curve_keys.public_key(given)
    found = list(curve_keys.listed(folder, curve_keys.KNOWN))
    if len(found) != 1:
        raise BadInput(
            str(folder / curve_keys.KNOWN),
            f"{len(found)} keys of controllers are kept here, one is expected; keep it with "
            "`tailback keys know FILE`, or name it with --controller-key",
        )
    return found[0]


async def run(
    address: str,
    folder: Path,
    key: str | None,
    plan: Plan,
    report: bool,
    out: Path,
    progress: Callable[[Report], None],
    say: Callable[[str], None],
    pace: float = 1.0,
    target: str = REMOTE,
    sources: str | None = None,
) -> Progress:
    """Have a plan run, wait for it, have its folder in `out`, of which the answer tells the path.
    `pace`: seconds of the run per second. `target`: that of the plan; `sources`: the digest that
    results are to be of, where one machine makes all of them.

    Raises RunFailed, BadInput; a cancelled wait cancels the run.
    """
    number = secrets.token_hex(8)
    async with _connection(address, folder, key) as asker:
        asked = Submit(
            run=number,
            plan=plan.to_toml(),
            source=plan.source,
            target=target,
            sources=sources,
            report=report,
            pace=pace,
        )
        later = f"`tailback fetch {number} --controller {address}` has its folder when it is over"
        try:
            await asker.ask("submit", asked, within_s=PATIENCE_S)
        except Unanswered as error:
            raise RunFailed(f"{error}; if the run was taken all the same, {later}") from None
        try:
            latest = await _follow(asker, number, progress, say)
        except Unanswered as error:
            raise RunFailed(f"{error}; run {number} goes on there if it can: {later}") from None
        except asyncio.CancelledError:
            with suppress(Unanswered, Refusal):
                await asker.ask("cancel", OfRun(run=number), within_s=PATIENCE_S)
            raise
        if latest.folder is None:
            return latest
        try:
            final = await download(asker, number, out, progress)
        except (Unanswered, Refusal, RunFailed) as error:
            raise RunFailed(
                f"the run is over ({(latest.result or {}).get('verdict')}), but its folder did not "
                f"come: {error}; the controller has it in {latest.folder}, and "
                f"`tailback fetch {number}` goes on with it"
            ) from None
        return latest.model_copy(update={"folder": str(final)})


async def fetch(
    address: str,
    folder: Path,
    key: str | None,
    number: str,
    out: Path,
    progress: Callable[[Report], None],
) -> Path:
    """Have the folder of a run that is over in `out`. Raises RunFailed, BadInput."""
    async with _connection(address, folder, key) as asker:
        return await download(asker, number, out, progress)


async def force(address: str, folder: Path, key: str, name: str) -> list[str]:
    """Have an agent end leases that may be another's; which those were. Raises RunFailed."""
    try:
        asked = Force(name=name)
    except ValueError:
        raise BadInput("NAME", f"{name[:70]!r}: a lease, controller, key or NIC") from None
    async with _connection(address, folder, key, "agent") as asker:
        body, _ = await asker.ask("force", asked, within_s=PATIENCE_S)
        return [str(lease) for lease in body["released"]]


@asynccontextmanager
async def _connection(
    address: str, folder: Path, key: str | None, who: str = "controller"
) -> AsyncIterator[RpcClient]:
    """A connection to a controller or agent; what it does not answer or do is a RunFailed."""
    pair, public = curve_keys.own(folder), controller_key(folder, key)
    context = zmq.asyncio.Context()
    asker = RpcClient(context, who, address, public, pair)
    try:
        yield asker
    except (Unanswered, Refusal) as error:
        raise RunFailed(str(error)) from None
    finally:
        asker.close()
        context.term()


async def _follow(
    asker: RpcClient, number: str, progress: Callable[[Report], None], say: Callable[[str], None]
) -> Progress:
    after = 0
    while True:
        body = await _ask_patiently(asker, Follow(run=number, after=after), say)
        latest: Progress = Progress.model_validate(body)
        for line in latest.lines:
            say(line)
        after += len(latest.lines)
        if latest.over:
            return latest
        progress(Report(latest.stage, latest.done, latest.detail))
        await asyncio.sleep(LOOK_S)


async def _ask_patiently(
    asker: RpcClient, asked: Follow, say: Callable[[str], None]
) -> dict[str, Any]:
    """Ask how far a run is; a controller that is there and busy gets more time. Raises Unanswered
    when it is gone, or was busy for too long."""
    end = time.monotonic() + BUSY_S
    while True:
        try:
            body, _ = await asker.ask("follow", asked, within_s=PATIENCE_S)
            return body
        except Unanswered:
            if asker.state is not State.UP or time.monotonic() > end:
                raise
        say(f"the controller is busy; it is asked for {BUSY_S:.0f} s, and run {asked.run} goes on")


def curve_setup(folder: Path, key: str | None) -> Callable[[Any], None]:
    """Function that sets our keys and the controller's on a socket, before it connects."""
    pair, public = curve_keys.own(folder), controller_key(folder, key)

    def prepare(socket: Any) -> None:
        socket.curve_serverkey = public.encode("ascii")
        socket.curve_publickey = pair.public.encode("ascii")
        socket.curve_secretkey = pair.secret

    return prepare


async def status(address: str, folder: Path, key: str | None) -> dict[str, Any]:
    """The machines and runs of a controller."""
    async with _connection(address, folder, key) as asker:
        body, _ = await asker.ask("status", Status(), within_s=PATIENCE_S)
        return body
