"""Executor on the workers of a Dask cluster: SSH, Slurm, Kubernetes.

Dask distributes points, and runs those of a lost worker again; each has one reply. Results are the
same as on this machine: a worker with other sources refuses a point.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from orchestrator.batch.experiment import Point
from orchestrator.batch.point_worker import PointRunner
from orchestrator.batch.process_pool import Say
from orchestrator.batch.worker_replies import FAILED, Answer
from orchestrator.errors import BadInput, Refused, RunFailed
from orchestrator.registry import Registry
from orchestrator.run.source_digest import digest_of

INVALID = 3
_engine_lock = threading.Lock()
"""Serialises the threads of a worker, which share one engine."""
_runner = PointRunner()
_subject = ""


def run_remote_point(table: dict[str, Any], subject: str, sources: str, seed: int) -> Answer:
    """Run a point; the plan of an experiment is read once. Refused if the worker's sources
    differ."""
    global _subject
    with _engine_lock:
        ours = digest_of(Registry.load())
        if ours != sources:
            text = "a worker has another tailback, other plugins or libraries; install the same"
            return FAILED, (INVALID, f"{text} ({ours[:12]} there, {sources[:12]} here)")
        new, _subject = subject != _subject, subject
        return _runner.answer(table if new else None, seed)


AHEAD = 2
"""Points in progress per thread of the cluster, so that the next one is queued there."""
FEWEST = 8
"""Least number of points in progress, while the cluster has few workers or none."""
TIMEOUT_S = 20
FILE = ".json"
"""Suffix of a scheduler's file (`dask scheduler --scheduler-file`)."""
ACCEPTED = "tcp://HOST:8786 is expected, or the scheduler's file.json"
Numbered = tuple[int, Point]


class DaskCluster:
    """The workers behind a scheduler."""

    def __init__(self, client: Any, say: Say) -> None:
        self._client, self._say = client, say

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """(number, reply) in order of completion. Raises RunFailed for a point that killed
        workers."""
        from distributed import KilledWorker, as_completed

        waiting = iter(points)
        under_way: dict[str, Numbered] = {}
        done = as_completed(loop=self._client.loop)
        self._fill(waiting, under_way, done)
        while under_way:
            future = next(done)
            number, point = under_way.pop(future.key)
            try:
                answer: Answer = future.result()
            except KilledWorker as error:
                raise RunFailed(f"{point}: workers of the cluster died of it: {error}") from error
            except ImportError as error:
                text = f"a worker of the cluster cannot import tailback ({error}); install it there"
                raise RunFailed(text) from error
            future.release()
            self._fill(waiting, under_way, done)
            yield number, answer

    def _fill(
        self,
        waiting: Iterator[tuple[int, Point]],
        under_way: dict[str, tuple[int, Point]],
        done: Any,
    ) -> None:
        """Submit points up to the capacity of the cluster, which may grow meanwhile."""
        most = max(AHEAD * sum(self._client.nthreads().values()), FEWEST)
        while len(under_way) < most and (work := next(waiting, None)) is not None:
            _, point = work
            subject = point.subject
            future = self._client.submit(
                *(run_remote_point, subject.table, subject.digest, subject.sources, point.seed),
                key=f"tailback-{point.digest}",
            )
            under_way[future.key] = work
            done.add(future)


def dask_executor(
    scheduler: Any,
) -> Callable[[Say], contextlib.AbstractContextManager[DaskCluster]]:
    """Executor on the workers of a scheduler: its address or file, or a cluster object of Dask.

    Raises Refused without the extra `dask_executor`.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise Refused(
            "--scheduler",
            "dask.distributed is not installed",
            "pip install 'tailback-testbed[cluster]'",
        ) from None
    return lambda say: _connected(scheduler, say)


@contextlib.contextmanager
def _connected(scheduler: Any, say: Say) -> Iterator[DaskCluster]:
    """Connection that is closed at the end, which cancels the points in progress."""
    from distributed import Client

    where = {"address": scheduler}
    if isinstance(scheduler, str) and scheduler.endswith(FILE):
        where = {"scheduler_file": scheduler}
        if not Path(scheduler).exists():
            say(f"waiting for the scheduler to write {scheduler}")
    try:
        client = Client(**where, timeout=TIMEOUT_S, set_as_default=False, name="tailback")
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        text = f"no scheduler answers at {scheduler!r}: {why}; {ACCEPTED}"
        raise BadInput("--scheduler", text) from None
    try:
        threads = sum(client.nthreads().values())
        say(f"{len(client.nthreads())} workers, {threads} threads at {scheduler}")
        yield DaskCluster(client, say)
    finally:
        client.close()
