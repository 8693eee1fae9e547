"""Files of a bad agent: refused in a sentence, unpacked in bounds, never a bug."""

from __future__ import annotations

import io
import json
import random
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import RunFailed
from orchestrator.testbed.wire.result_files import read_numbers, read_words

MOST = 1 << 20


def npy(kind: str, shape: tuple[int, ...], data: bytes = b"") -> bytes:
    """A file of an array that may say more than it has."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": kind, "fortran_order": False, "shape": shape}
    )
    return out.getvalue() + data


def archive(path: Path, **arrays: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, octets in arrays.items():
            file.writestr(f"{name}.npy", octets)
    return path


def test_what_an_agent_writes_is_read(tmp_path: Path) -> None:
    arrays = {
        "times": np.arange(5),
        "values": np.arange(6).reshape(2, 3),
        "f": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "octets": np.zeros((0, 64), np.uint8),
    }
    with (tmp_path / "numbers").open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    found = read_numbers(tmp_path / "numbers", MOST)
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    (tmp_path / "words").write_text('{"a": [1, -2.5, null, true, "x"]}')
    assert read_words(tmp_path / "words") == {"a": [1, -2.5, None, True, "x"]}


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = npy("<i8", (2**25,), bytes(2**28))
    path = archive(tmp_path / "numbers", values=bomb)
    assert path.stat().st_size < 2**20
    del bomb
    tracemalloc.start()
    with pytest.raises(RunFailed, match="more octets than the plan's may have"):
        read_numbers(path, MOST)
    assert tracemalloc.get_traced_memory()[1] < 4 * MOST
    tracemalloc.stop()
    parts = {f"a{number}": npy("<i8", (2**16,), bytes(2**19)) for number in range(4)}
    with pytest.raises(RunFailed, match="more octets than the plan's may have"):
        read_numbers(archive(path, **parts), MOST)


BAD = {
    "pickled": npy("|O", (1,), b"x"),
    "floats": npy("<f8", (1,), bytes(8)),
    "records": npy("[('a', '<i8')]", (1,), bytes(8)),
    "too few": npy("<i8", (3,), bytes(16)),
    "too many": npy("<i8", (1,), bytes(16)),
    "negative": npy("<i8", (-1,), b""),
    "overflow": npy("<i8", (2**40, 2**40), b""),
    "deep": npy("<i8", (1,) * 20, bytes(8)),
    "no header": b"\x93NUMPY\x01\x00",
    "empty": b"",
    "version": b"\x93NUMPY\x09\x00" + bytes(200),
}


@pytest.mark.parametrize("kind", BAD)
def test_an_array_that_is_none(kind: str, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="its results"):
        read_numbers(archive(tmp_path / "numbers", values=BAD[kind]), MOST)


@pytest.mark.parametrize("seed", range(40))
def test_files_cut_off_or_changed_anywhere(seed: int, tmp_path: Path) -> None:
    draw, path = random.Random(seed), tmp_path / "numbers"
    with path.open("wb") as file:
        save = draw.choice([np.savez, np.savez_compressed])
        save(file, a=np.arange(50), b=np.zeros((3, 4), np.uint8))
    octets = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 4)):
        octets[draw.randrange(len(octets))] = draw.randrange(256)
    path.write_bytes(bytes(octets[: draw.choice([len(octets), draw.randrange(len(octets))])]))
    try:
        found = read_numbers(path, MOST)
    except RunFailed:
        return
    assert all(array.dtype in (np.int64, np.uint8) for array in found.values())


WORDS = {
    "empty": "",
    "truncated": '{"a": [1, 2',
    "nested": '{"a": ' + "[" * 100_000,
    "NaN": '{"a": NaN}',
    "infinity": '{"a": -Infinity}',
    "large float": '{"a": 1e999}',
    "large integer": '{"a": 1' + "0" * 400 + "}",
    "digits": '{"a": 1' + "0" * 10_000 + "}",
    "65 bits": json.dumps({"a": 2**63}),
    "list": "[1]",
    "not UTF-8": '{"a": "\udcff"}',
}


@pytest.mark.parametrize("kind", WORDS)
def test_words_that_are_none(kind: str, tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes(WORDS[kind].encode("utf-8", "surrogateescape"))
    with pytest.raises(RunFailed, match="its results"):
        read_words(tmp_path / "words")


def test_files_that_are_missing_or_folders(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(RunFailed, match="cannot be read"):
            read_words(path)
        with pytest.raises(RunFailed, match="cannot be read"):
            read_numbers(path, MOST)
