"""Errors of a full disk are told from others, and the message has the place and what is free."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.run.disk_space import NOT_WRITABLE, disk_full_message, is_full

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@pytest.mark.parametrize("code", FULL)
def test_a_disk_a_quota_and_a_limit_of_files_are_full(code: int) -> None:
    assert is_full(OSError(code, "anything"))
    assert is_full(OSError(f"[Errno {code}] Error writing: {os.strerror(code)}"))


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOENT, errno.EIO, errno.EPERM])
def test_a_disk_that_cannot_be_written_is_not_full(code: int) -> None:
    assert not is_full(OSError(code, os.strerror(code)))
    assert not is_full(OSError(os.strerror(code)))
    assert code in NOT_WRITABLE


def test_codes_that_need_their_file_are_not_those_of_a_full_disk() -> None:
    assert not NOT_WRITABLE & set(FULL)
    assert {errno.ENOTDIR, errno.ELOOP} < NOT_WRITABLE


def test_the_message_has_what_is_free_on_the_disk_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []

    def usage(path: Path) -> SimpleNamespace:
        looked.append(path)
        return SimpleNamespace(free=12_340_000)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    words = "no room left on the disk (12.3 MB free); free some or choose another --out DIR"
    assert disk_full_message(tmp_path) == f"{tmp_path}: {words}"
    missing = tmp_path / "runs"
    assert disk_full_message(missing) == f"{missing}: {words}"
    assert looked == [tmp_path, tmp_path]


def test_the_message_stands_where_nothing_is_known_of_the_disk(tmp_path: Path) -> None:
    at = tmp_path / "gone" / "runs"
    words = "no room left on the disk; free some or choose another --out DIR"
    assert disk_full_message(at) == f"{at}: {words}"
