"""Parallel build of the models of a run that are not cached, one per core."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from firmware.verilated.model_build import Model, build_model, end_builds, is_built
from orchestrator.progress import Progress, Report, silent

POLL_INTERVAL_S = 0.1


def build_models(
    models: Iterable[Model], progress: Report, *, counts: bool = False
) -> dict[Model, Path]:
    """Build the libraries of several nodes: see `build_model`."""
    wanted = list(dict.fromkeys(models))
    missing = [one for one in wanted if not is_built(one, counts=counts)]
    if len(missing) > 1:
        _build_in_parallel(missing, progress, counts)
    return {
        one: build_model(one, progress, number / len(wanted), counts=counts)
        for number, one in enumerate(wanted)
    }


def _build_in_parallel(models: list[Model], progress: Report, counts: bool) -> None:
    """Build in threads; this thread reports progress, and its end ends the builds."""
    names = ", ".join(one.title for one in models)
    progress(Progress("building", 0.0, f"{names}; once, some 20 s each"))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(build_model, one, silent, counts=counts) for one in models]
        try:
            for number, future in enumerate(as_completed(futures), 1):
                future.result()
                progress(Progress("building", number / len(models), names))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in futures):  # a build may be about to start
                end_builds()
                time.sleep(POLL_INTERVAL_S)
            raise
