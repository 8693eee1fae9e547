"""Run folders that somebody has tampered with end in a sentence, whatever was written into them.

The corpus is made here: a right folder, and one change each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.console import run_catalog, run_sources
from orchestrator.errors import BadInput
from orchestrator.terminal import exit_codes, format_output
from orchestrator.terminal.escape_control import plain
from traces.run_reader import load
from traces.samples import METADATA_KEY

DEEP = "[" * 100_000
EVENT = '{"time_ps": 1, "kind": "a", "entity": "b", "detail": {}}'
NUMBERS = ["1e999", "-1e999", "Infinity", "NaN", "9" * 5000, "9" * 100]


def in_result(key: str, value: str) -> Callable[[Path], None]:
    """A change that writes a value, as JSON has it, over a key of result.json."""

    def change(folder: Path) -> None:
        path = folder / "result.json"
        whole = json.loads(path.read_text()) | {key: "@@"}
        path.write_text(json.dumps(whole).replace('"@@"', value))

    return change


def text(name: str, words: str) -> Callable[[Path], None]:
    return lambda folder: folder.joinpath(name).write_text(words) and None


def parquet(rows: object, count: int = 4, kind: str = "int64", columns: object = None):
    """Samples with `count` values that say they are `rows` rows of `columns`."""

    def change(folder: Path) -> None:
        told = [["n", "e", "q", "u", "k"]] if columns is None else columns
        header = json.dumps({"format": 1, "rows": rows, "columns": told})
        fields = [("time_ps", kind), ("value", kind)]
        schema = pa.schema(fields, {METADATA_KEY: header.encode()})
        values = pa.array(np.zeros(count, np.int64)).cast(kind)
        pq.write_table(pa.table([values, values], schema), folder / "samples.parquet")

    return change


CORPUS: dict[str, Callable[[Path], None]] = {
    **{f"seed {n[:8]} {len(n)}": in_result("seed", n) for n in NUMBERS},
    **{
        f"metric {n[:8]} {len(n)}": in_result("metrics", f'{{"run": {{"a": {{"b": {n}}}}}}}')
        for n in NUMBERS
    },
    "deep result": text("result.json", DEEP),
    "deep in result": in_result("fidelity", '{"a": ' + DEEP + "]" * 100_000 + "}"),
    "list result": text("result.json", "[]"),
    "metrics of words": in_result("metrics", '"many"'),
    "expectations of a number": in_result("expectations", "7"),
    "plan of a list": in_result("plan", "[1]"),
    "deep events": text("events.jsonl", DEEP),
    "infinite event": text("events.jsonl", EVENT.replace("1", "1e999")),
    "huge event": text("events.jsonl", EVENT.replace("1", "9" * 39)),
    "event of types": text("events.jsonl", EVENT.replace('"a"', "[]")),
    "event of detail": text("events.jsonl", EVENT.replace("{}", "[]").replace('"b"', '"b"')),
    "event null": text("events.jsonl", "null"),
    "deep manifest": text("manifest.json", DEEP),
    "deep plan": text("plan.toml", "a = " + "[" * 50_000),
    "plan of phases": text("plan.toml", 'name = "x"\nduration = "4s"\nphases = 7\n'),
    "plan of huge numbers": text("plan.toml", f"duration = {'9' * 5000}\n"),
    "rows 10**10": parquet(10**10),
    "rows infinite": parquet(float("inf")),
    "rows negative": parquet(-4),
    "rows of words": parquet("many"),
    "rows 0 columns 0": parquet(10**10, 0, columns=[]),
    "columns of numbers": parquet(4, columns=[[1, 2, 3, 4, 5]]),
    "columns deep": parquet(4, columns=[["a"]]),
    "values of floats": parquet(4, kind="float64"),
    "values of words": parquet(4, kind="string"),
    "no parquet": text("samples.parquet", "PAR1" * 10),
}


@pytest.mark.parametrize("name", CORPUS)
def test_a_tampered_folder_ends_in_a_sentence(make_folder: Callable[..., Path], name: str):
    folder = make_folder()
    load(folder)
    CORPUS[name](folder)
    began = time.process_time()
    with pytest.raises(BadInput) as caught:
        load(folder)
    assert str(folder) in str(caught.value)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("name", CORPUS)
def test_a_tampered_folder_does_not_keep_the_console_from_starting(
    make_folder: Callable[..., Path], name: str
):
    folder = make_folder()
    CORPUS[name](folder)
    place = folder.parent / "runs" / "plan" / "20260101T000000Z-00000000"
    place.parent.mkdir(parents=True)
    folder.rename(place)
    found = run_catalog.entries(folder.parent / "runs")
    assert any(entry.key == str(place) for entry in found), "it is listed"
    try:
        data = run_sources.load(place)
    except BadInput:
        return
    assert name.startswith(("seed", "metric", "deep manifest")), "it does not read those"
    assert all(type(moment.time_ps) is int for moment in data.moments)


ESCAPES = ["\x1b[2J", "\x1b]0;title\x07", "\r", "\x08" * 9, "\x9b31m", "\u202e", "\x00"]


@pytest.mark.parametrize("what", ESCAPES)
def test_what_would_steer_a_terminal_is_written_out(what: str, capsys: pytest.CaptureFixture[str]):
    exit_codes.say(f"run {what} of")
    format_output.console().print(format_output.table(("run",), [[f"run {what} of"]]))
    said = capsys.readouterr()
    for octets in (said.out, said.err):
        assert what not in octets
        assert plain(what) in octets
    assert plain("two\nlines, \t ü → ●") == "two\nlines, \t ü → ●"
