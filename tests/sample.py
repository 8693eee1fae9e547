"""Sample of long tests that `make test` runs; `make test-slow` runs what the sample leaves out.

`tests/sample.txt` has a line for each test that is long in all: how many of its instances are in
the sample, spread evenly over their order. It is measured and written anew by

    rm -rf build/times; make test test-slow PYTEST_ARGS='-p tests.sample'
    python -m tests.sample

A test that shares the cores keeps instances of 1 CPU s, one of real frames 2.5 s on the clock; a
test that is longer by itself keeps none. Tests marked `slow` are slow whatever they take.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

TABLE = Path(__file__).with_suffix(".txt")
TIMES = Path(__file__).parent.parent / "build" / "times"
KEPT_CPU_S, KEPT_REAL_FRAMES_S = 1.0, 2.5
LONG = 1.2
"""A test is in the table that takes this many times what it may keep."""


def function(test: str) -> str:
    """Identifier of a test without the parameters of its instance."""
    return test.partition("[")[0]


def kept() -> dict[str, int]:
    """Number of instances that the sample keeps, by the test's identifier."""
    lines = (line.split(maxsplit=1) for line in TABLE.read_text().splitlines())
    return {test: int(count) for count, test in lines}


def mark(items: Iterable[pytest.Item]) -> None:
    """Marks what the sample leaves out `unsampled`."""
    instances = defaultdict(list)
    sample = kept()
    for item in items:
        test = function(item.nodeid)
        if test in sample and not item.get_closest_marker("slow"):
            instances[test].append(item)
    for test, all_of_it in instances.items():
        count = min(sample[test], len(all_of_it))
        chosen = {index * len(all_of_it) // count for index in range(count)}
        for index, item in enumerate(all_of_it):
            if index not in chosen:
                item.add_marker("unsampled")


def part(text: str) -> tuple[int, int]:
    """Number of a part, from 1, and of parts, as `2/3`."""
    number, slash, parts = text.partition("/")
    if not (slash and number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is no part: say 2/3 for the second of three")
    return int(number), int(parts)


def parted(
    items: Iterable[pytest.Item], number: int, parts: int
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Items of that part of the modules, and all others; a module is whole in one part."""
    chosen, elsewhere = [], []
    for item in items:
        here = zlib.crc32(item.location[0].encode()) % parts == number - 1
        (chosen if here else elsewhere).append(item)
    return chosen, elsewhere


def cpu_s() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Writes down what a test took, with its fixtures."""
    wall, cpu = time.monotonic(), cpu_s()
    try:
        return (yield)
    finally:
        alone = bool(item.get_closest_marker("software")) and not item.get_closest_marker(
            "shares_cores"
        )
        took = time.monotonic() - wall if alone else cpu_s() - cpu
        if not item.get_closest_marker("slow"):
            TIMES.mkdir(parents=True, exist_ok=True)
            with (TIMES / f"{os.getpid()}.jsonl").open("a") as file:
                file.write(json.dumps([item.nodeid, took, alone]) + "\n")


def table(measured: Iterable[tuple[str, float, bool]]) -> list[str]:
    """Lines of the table from tests' identifiers, seconds and whether the cores are theirs."""
    times = defaultdict(list)
    may_keep = {}
    for test, seconds, alone in measured:
        times[function(test)].append(seconds)
        may_keep[function(test)] = KEPT_REAL_FRAMES_S if alone else KEPT_CPU_S
    lines = []
    for test, seconds in sorted(times.items()):
        total, most = sum(seconds), may_keep[test]
        count = int(most * len(seconds) / total) if total else len(seconds)
        if not count and len(seconds) > 1 and total / len(seconds) <= 2 * most:
            count = 1
        if total > LONG * most and count < len(seconds):
            lines.append(f"{count} {test}")
    return lines


if __name__ == "__main__":
    files = sorted(TIMES.glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    TABLE.write_text("".join(f"{line}\n" for line in table(rows)))
