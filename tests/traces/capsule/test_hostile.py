"""Capsules that mean harm end in a sentence and exit code 2, with nothing written anywhere."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.errors import BadInput
from tests.traces.capsule.tampered import changed, command, text, value
from traces.capsule.zip_archive import open_archive

NAMES = ["../evil", "/tmp/evil", "data/../../evil", "a\\..\\evil", "C:evil", "data//x", "a\nb", "."]


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary folders lie where they can be counted."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)


def refused(path: Path, code: int = 2) -> str:
    """What `verify` says, in one sentence, of what it does not take."""
    before = {one for one in path.parent.rglob("*") if one != path}
    done = command("verify", path, "--jobs", 1, "--out", path.parent / "out")
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    assert {one for one in path.parent.rglob("*") if one != path} == before
    return " ".join(done.output.split())


def added(path: Path, name: str, octets: bytes = b"x", mode: int = 0o100644) -> Path:
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = entry.orig_filename = name
    entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(entry, octets)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_out_of_it(a_run: Path, name: str) -> None:
    assert "leads out of the capsule" in refused(added(a_run, name))
    assert not Path("/tmp/evil").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices(a_run: Path, kind: int) -> None:
    assert "is a link or a device" in refused(added(a_run, "data/x", b"/etc/passwd", kind | 0o777))


def test_a_name_that_stands_twice(a_run: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        added(a_run, "capsule.json")
    assert "twice" in refused(a_run)


def test_a_bomb(a_run: Path) -> None:
    assert "says that" in refused(added(a_run, "data/zeros", bytes(2**27)))


def test_a_bomb_that_says_it_is_small(a_run: Path) -> None:
    """The size in the directory is made less than what is packed: only so much is unpacked."""
    big = changed(a_run, {"data/events.jsonl": lambda octets: bytes(2**22)})
    octets = bytearray(big.read_bytes())
    at = octets.rfind(b"data/events.jsonl") - 46
    assert octets[at : at + 4] == b"PK\x01\x02"
    assert struct.unpack_from("<L", octets, at + 24)[0] == 2**22
    struct.pack_into("<L", octets, at + 24, 10)
    big.write_bytes(octets)
    assert "data/events.jsonl cannot be read, the capsule is damaged" in refused(big)


def test_more_files_than_a_capsule_has(a_run: Path) -> None:
    with zipfile.ZipFile(a_run, "a") as file:
        for number in range(10_001):
            file.writestr(f"data/{number}", b"")
    assert "at most 10000" in refused(a_run)


def test_a_directory_that_is_too_large_is_not_read(a_run: Path) -> None:
    octets = bytearray(a_run.read_bytes())
    struct.pack_into("<L", octets, octets.rfind(b"PK\x05\x06") + 12, 2**31)
    a_run.write_bytes(octets)
    assert "lists more files" in refused(a_run)


def test_one_in_another_packing_or_encrypted(a_run: Path) -> None:
    with zipfile.ZipFile(a_run, "a", zipfile.ZIP_LZMA) as file:
        file.writestr("data/x", b"x")
    assert "packed in a way that capsules are not" in refused(a_run)


@pytest.mark.parametrize("at", [0.1, 0.4, 0.8, 0.97])
def test_a_file_that_was_cut_short(a_run: Path, at: float) -> None:
    octets = a_run.read_bytes()
    a_run.write_bytes(octets[: int(len(octets) * at)])
    assert "is no capsule, or a damaged one" in refused(a_run)


def test_flipped_octets_anywhere_end_in_a_sentence(a_run: Path) -> None:
    """In what is packed a checksum tells; elsewhere it may be any sentence, or no harm."""
    whole = a_run.read_bytes()
    with zipfile.ZipFile(a_run) as file:
        entry = file.getinfo("data/samples.parquet")
    inside = entry.header_offset + 200
    for at in (inside, 5, 40, len(whole) - 15, len(whole) - 300):
        octets = bytearray(whole)
        octets[at] ^= 0xFF
        a_run.write_bytes(octets)
        done = command("verify", a_run)
        assert done.exit_code == 2 if at == inside else done.exit_code in (0, 1, 2), done.output
        assert "Traceback" not in done.output


def test_what_is_no_file_at_all(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("name = 'x'\n")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("pipe", "text", "empty", "temporary", "none"):
        assert "capsule" in refused(tmp_path / name)


DEEP = b'{"a":' * 100_000
RECORD, RESULT, PLAN = "capsule.json", "data/result.json", "data/plan.toml"


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        (RECORD, lambda octets: b"[]"),
        (RECORD, lambda octets: DEEP),
        (RECORD, lambda octets: b"\xff"),
        (RECORD, lambda octets: bytes(2**26 + 1)),
        (RECORD, value("tailback_capsule", to="1")),
        (RECORD, value("kind", to="sweeper")),
        (RECORD, value("seeds", to="all")),
        (RECORD, value("plan", to=[])),
        (RECORD, value("files", to={"/etc/passwd": "data/none"})),
        (RECORD, value("environment", to=1)),
        ("data/manifest.json", lambda octets: b"{} {}"),
        (RESULT, lambda octets: octets.replace(b'"seed": 1', b'"seed": NaN')),
        (RESULT, lambda octets: octets.replace(b'"seed": 1', b'"seed": ' + b"9" * 5000)),
        (RESULT, value("metrics", to={"run": 3})),
        (PLAN, lambda octets: b"x" * 4_000_001),
        (PLAN, lambda octets: b"a." * 5000 + b"b = 1"),
        (PLAN, lambda octets: octets + b"\n[nodes.'n{0..99999999}']\nkind = 'nic'\n"),
        (PLAN, lambda octets: b"base = 'quickstart'\n" + octets),
        (PLAN, lambda octets: octets.replace(b'"cbr"', b"3").replace(b'"bernoulli"', b"3")),
        ("manifest-sha256.txt", lambda octets: b"nothing\n"),
    ],
)
def test_wrong_types_and_sizes(a_run: Path, name: str, edit: Callable[[bytes], bytes]) -> None:
    assert "run.zip" in refused(changed(a_run, {name: edit}))


def test_a_plan_that_names_a_file_of_this_machine(a_run: Path) -> None:
    def edit(octets: bytes) -> bytes:
        """The source becomes one that reads a file."""
        head, sign, rest = octets.partition(b"[traffic.gen]\n")
        _, blank, rest = rest.partition(b"\n\n")
        said = b'plugin = "trace"\nfrom = "nic"\nto = "sink"\nfile = "/etc/hostname"'
        return head + sign + said + blank + rest

    assert "cannot name a file" in refused(changed(a_run, {PLAN: edit}))
    both = {PLAN: edit, RECORD: value("files", to={"/x": "data/events.jsonl"})}
    said = refused(changed(a_run, both))
    assert "/etc/hostname, a file that is not in the capsule" in said


def test_a_plan_that_starts_commands_is_not_run(a_run: Path) -> None:
    """On `software`, where it would: a command is not started unless somebody says so."""
    plan = Path(__file__).parents[2] / "docs" / "programs.toml"
    head, _, _ = plan.read_text().partition("command =")
    evil = f'{head}command = ["touch", "{a_run.parent}/evil"]\n'
    said = refused(changed(a_run, {PLAN: lambda octets: evil.encode()}), code=3)
    assert "cannot be run again here" in said
    assert "programs are off" in said
    assert not (a_run.parent / "evil").exists()


def test_a_plugin_that_is_not_here(a_run: Path) -> None:
    edits = {
        PLAN: text('"qcn-cp"', '"red-line"'),
        RECORD: value("plugins", to={"congestion_point red-line": "red-line 0.1"}),
    }
    said = refused(changed(a_run, edits, rehash=True), code=3)
    assert "plugin missing here: congestion_point red-line (of red-line 0.1)" in said


def parquet(**columns: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize(
    ("octets", "said"),
    [
        (parquet(place=pa.nulls(3_000_000, pa.int64())), "says it has 3000000 rows; this plan"),
        (parquet(place=[{"a": 1}]), "other types"),
        (parquet(place=["a"], seed=[1]), "are no whole numbers"),
        (parquet(place=[1]), "other types or columns"),
        (b"PAR1 no PAR1", "cannot be read as parquet"),
    ],
)
def test_tables_that_are_none(a_sweep: Path, octets: bytes, said: str) -> None:
    edits = {"data/points/part-00000.parquet": lambda _: octets}
    assert said in refused(changed(a_sweep, edits))


@pytest.mark.parametrize("seeds", ["x", [], [-1], [1.5], [True], [2**70], list(range(20_000))])
def test_seeds_of_a_sweep_that_are_none(a_sweep: Path, seeds: object) -> None:
    edits = {"data/sweep.json": value("seeds", to=seeds)}
    assert "names no seeds" in refused(changed(a_sweep, edits))


def test_a_sweep_without_its_tables(a_sweep: Path) -> None:
    with zipfile.ZipFile(a_sweep) as file:
        held = {n: file.read(n) for n in file.namelist() if "parquet" not in n}
    with zipfile.ZipFile(a_sweep, "w") as file:
        for name, octets in held.items():
            file.writestr(name, octets)
    assert json.loads(held["capsule.json"])["kind"] == "sweep"
    assert "holds no tables of a sweep" in refused(a_sweep)


def test_the_digest_is_that_of_the_file_that_was_read(tmp_path: Path) -> None:
    path, other = tmp_path / "it.zip", tmp_path / "other.zip"
    for one, octets in ((path, b"1"), (other, b"2")):
        with zipfile.ZipFile(one, "w") as file:
            file.writestr("data/x", octets)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with open_archive(path) as archive:
        os.replace(other, path)
        assert archive.read("data/x", 10) == b"1"
        assert archive.sha256() == digest
    with open_archive(path) as archive:
        with path.open("r+b") as file:
            file.seek(-1, 2)
            file.write(b"x")
        with pytest.raises(BadInput, match="was changed while it was verified"):
            archive.sha256()
