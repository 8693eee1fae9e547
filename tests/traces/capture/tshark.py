"""tshark and capinfos as second opinions; tests that ask them are skipped without them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

TSHARK, CAPINFOS = shutil.which("tshark"), shutil.which("capinfos")
needs_tshark = pytest.mark.skipif(
    TSHARK is None, reason="tshark is not installed: its dissection cannot be compared with ours"
)
needs_capinfos = pytest.mark.skipif(
    CAPINFOS is None, reason="capinfos is not installed: its reading cannot be compared with ours"
)
PLAIN = ("ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE")
"""tshark shows the ports of a first fragment only when it does not wait for the others."""


def rows(
    path: Path, fields: Sequence[str], occurrence: str = "f", preferences: Sequence[str] = ()
) -> list[dict[str, str]]:
    """First ("l": last) occurrence of each field in every frame ("" without one), as far as tshark
    reads."""
    command = [str(TSHARK), "-n", "-r", str(path), "-T", "fields", "-E", f"occurrence={occurrence}"]
    command += ["-E", "separator=|"]
    for preference in (*PLAIN, *preferences):
        command += ["-o", preference]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(
        command,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "WIRESHARK_CONFIG_DIR": str(path.parent), "LC_ALL": "C.UTF-8"},
    )
    lines = done.stdout.decode("utf-8", "replace").split("\n")[:-1]
    return [dict(zip(fields, line.split("|"), strict=True)) for line in lines]


def counts(paths: Sequence[Path]) -> list[int | None]:
    """Frames that capinfos reads of each file before its end or its first error; None: none."""
    done = subprocess.run(
        [str(CAPINFOS), "-c", "-T", "-r", *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    lines = (line.rpartition("\t") for line in done.stdout.splitlines())
    found = {name: int(count) for name, _, count in lines}
    return [found.get(str(path)) for path in paths]
