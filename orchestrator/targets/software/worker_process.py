"""Worker process, parent's side: start, reports, result, end."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from types import TracebackType
from typing import Any

from orchestrator import python_command
from orchestrator.errors import RunFailed, TailbackError
from orchestrator.targets.software import worker_main
from orchestrator.targets.software.isolation import Denied
from orchestrator.targets.software.kernel_refusals import refusal

ENDING_S = 5.0


class Worker:
    """A worker process with one job, as a context manager: it is gone when the block is left.

    `job` is "module:function"; the function is called with a `worker.Control` and `arguments`,
    which are pickled, as is what it returns. Start it from a thread that lives as long as the
    job: the kernel kills the worker when that thread ends.
    """

    def __init__(
        self,
        job: str,
        *arguments: Any,
        handed: Sequence[int] = (),
        lends: bool = False,
        stays: bool = False,
        process: str = worker_main.__name__,
    ) -> None:
        self._job = (job, arguments)
        self._process = process
        """The module that is started: one that takes a job as `worker` does."""
        self.handed = list(handed)
        """Descriptors that the worker gets, under the same numbers."""
        self.lends = lends
        """Whether it lends the kernel memory: see `worker.LENDS`."""
        self.stays = stays
        """Whether it is to be root of where it is started: see `worker.STAYS`."""
        self.drives = True
        """True for a data path, which takes cores: its command line shows that to other runs."""
        self.result: Any = None

    def __enter__(self) -> Worker:
        self.pipe, far = Pipe()
        words = [str(far.fileno()), str(os.getpid()), *([worker_main.LENDS] if self.lends else [])]
        words += [] if self.drives else [worker_main.HOLDS]
        words += [worker_main.STAYS] if self.stays else []
        try:
            self.process = subprocess.Popen(
                python_command.module(self._process, *words),
                pass_fds=[far.fileno(), *self.handed],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                # Threads of OpenBLAS would compete with the data path.
                env=python_command.environment(OPENBLAS_NUM_THREADS="1"),
            )
        finally:
            far.close()
        try:
            with suppress(BrokenPipeError):  # it ended at once: `reports` tells why
                self.pipe.send(self._job)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.pipe.close()
        if kind is not None:
            self.process.kill()
        try:
            self.process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def order(self, order: Any) -> None:
        """Send an order to the job, which finds it in `Control.orders`."""
        with suppress(BrokenPipeError):  # it has ended: `reports` tells why
            self.pipe.send(order)

    def reports(self) -> Iterator[Any]:
        """Reports of the job, until it is done; `result` holds its return value then."""
        while True:
            try:
                kind, content = self.pipe.recv()
            except (EOFError, ConnectionResetError) as gone:
                raise RunFailed(
                    f"target software: the worker process ended ({self._ending()}) before its job "
                    "was done; nothing of it stays behind"
                ) from gone
            if kind == worker_main.REPORT:
                yield content
            elif kind == worker_main.RESULT:
                self.result = content
                return
            elif kind == worker_main.DENIED:
                raise refusal(Denied(content[0], OSError(content[1], os.strerror(content[1]))))
            elif kind == worker_main.FAILED:
                mistake = TailbackError(content[1])
                mistake.exit_code = content[0]
                raise mistake
            else:
                raise RuntimeError(f"a job of the software target broke:\n{content}")

    def _ending(self) -> str:
        code = self.process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def run_job(job: str, *arguments: Any) -> Any:
    """Run a job in a worker and return its result; its reports are dropped."""
    with Worker(job, *arguments) as worker:
        for _ in worker.reports():
            pass
        return worker.result
