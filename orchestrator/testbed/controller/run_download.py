"""Download of a run folder: all files, chunk by chunk, then one rename.

What has come lies in `runs/<plan>/.<name>.fetching` meanwhile. An interruption of any kind leaves
it there, and the next fetch of that run goes on with it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from orchestrator.errors import RunFailed
from orchestrator.progress import Progress as Report
from orchestrator.run import folder_lock, partial_runs
from orchestrator.run.run_folder import RunFolder
from orchestrator.testbed.controller.controller_messages import FetchOf, OfRun, RunFiles
from orchestrator.testbed.wire.chunked_transfer import Chunk, Damaged, Stored, Taking, measured
from orchestrator.testbed.wire.envelope import sentence
from orchestrator.testbed.wire.rpc_client import RpcClient, Unanswered

CHUNK_S = 5.0
"""For one chunk; then it is asked for again."""
SILENT_S = 60.0
"""Without any new octet: then it is given up."""
TRIES = 5
"""Of a file that came damaged as a whole."""


async def download(
    asker: RpcClient, run: str, out: Path, progress: Callable[[Report], None]
) -> Path:
    """Have the folder of a run in `out`/<plan>/, under the name that it has with the controller.

    A folder that is there already with the same files is the one: nothing is fetched then. A lost
    connection, or a damaged chunk, is gone on with where it was; so is a fetch that was given up,
    or whose process died, by the next one of the same run. Raises RunFailed (nothing of it is left
    here then), Unanswered, Refusal.
    """
    body, _ = await asker.ask("files", OfRun(run=run), within_s=SILENT_S)
    try:
        kept = RunFiles.model_validate(body)
    except ValidationError as error:
        raise RunFailed(f"the controller's list of files is not right: {sentence(error)}") from None
    final = out.absolute() / kept.plan / kept.name
    if final.exists():
        if _same(final, kept):
            return final
        raise RunFailed(f"{final} is there already and is not this run; nothing was overwritten")
    total = sum(file.octets for file in kept.files)
    done = 0
    with RunFolder.open(out, kept.plan, kept.name) as folder, _store(final) as store:
        for number, file in enumerate(kept.files):
            path = store / file.name
            if not path.resolve().is_relative_to(store.resolve()):
                raise RunFailed(f"the controller named {file.name}, which is not in the folder")
            path.parent.mkdir(parents=True, exist_ok=True)

            def report_octets(octets: int, before: int = done) -> None:
                share = (before + octets) / max(total, 1)
                progress(Report("fetching", share, f"{(before + octets) / 1e6:.1f} MB"))

            await _file(asker, run, number, Taking(file, path), report_octets)
            done += file.octets
        for file in kept.files:
            os.rename(store / file.name, folder.file(file.name))
        shutil.rmtree(store)
        return folder.commit()


@contextlib.contextmanager
def _store(final: Path) -> Iterator[Path]:
    """Folder of incoming files: private, and kept unless the download failed."""
    store = final.parent / f".{final.name}{partial_runs.FETCHING}"
    store.mkdir(exist_ok=True)
    try:
        lock = folder_lock.acquire(store)
    except (BlockingIOError, FileNotFoundError):
        raise RunFailed(f"{final} is being fetched by another process") from None
    except OSError as error:
        if error.errno not in folder_lock.UNKNOWN_HERE:
            raise
        lock = None
    try:
        yield store
    except (RunFailed, OSError):
        shutil.rmtree(store, ignore_errors=True)
        raise
    finally:
        folder_lock.release(lock)


async def _file(
    asker: RpcClient, run: str, number: int, taking: Taking, report_octets: Callable[[int], None]
) -> None:
    answered_s, damaged = time.monotonic(), 0
    while True:
        try:
            while not taking.complete:
                asked = FetchOf(run=run, number=number, offset=taking.offset)
                body, octets = await asker.ask("fetch", asked, within_s=CHUNK_S)
                taking.take(Chunk.model_validate(body), octets or b"")
                answered_s = time.monotonic()
                report_octets(taking.offset)
            taking.check()
            return
        except Unanswered as silence:
            if silence.rejected or time.monotonic() - answered_s > SILENT_S:
                raise
        except (Damaged, ValidationError) as damage:
            damaged += 1
            if damaged == TRIES:
                raise RunFailed(f"controller: {damage}, {TRIES} times") from None


def _same(folder: Path, kept: RunFiles) -> bool:
    """Return whether a folder holds just these files."""
    paths = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    if paths != {file.name for file in kept.files}:
        return False
    return all(_equal(folder / file.name, file) for file in kept.files)


def _equal(path: Path, file: Stored) -> bool:
    return measured(path) == {"octets": file.octets, "sha256": file.sha256}
