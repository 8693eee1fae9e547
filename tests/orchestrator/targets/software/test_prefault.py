"""Pages that are set aside before a run are there when it begins, and as they were."""

from __future__ import annotations

import mmap
import resource

import numpy as np

from orchestrator.targets.software import realtime_scheduling

PAGES = 512


def so_far() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


def test_no_page_of_a_prefaulted_array_is_missing_at_its_first_use():
    pages = mmap.mmap(-1, PAGES * mmap.PAGESIZE)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    array = np.frombuffer(pages, np.int64)[500:-500]  # begins late in a page, ends early in one
    realtime_scheduling.prefault(array[:1])
    begun = so_far()
    realtime_scheduling.prefault(array)
    between = so_far()
    array[:] = 1
    assert between - begun >= PAGES - 2
    assert so_far() - between == 0


def test_what_is_prefaulted_stays_as_it_was():
    array = np.arange(100_000).reshape(100, 1000)
    realtime_scheduling.prefault(array, np.zeros(0, np.int64))
    assert (array.ravel() == np.arange(100_000)).all()
