"""samples.parquet: exact, deterministic, and anything else is bad input."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from orchestrator.recording import Column
from traces import samples
from traces.samples import read_samples, write_samples

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
INT64 = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    from orchestrator.recording import Column

    keys = data.draw(
        st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT, st.sampled_from(["gauge", "counter"])))
    )
    rows = data.draw(st.integers(0, 6))
    cells = st.lists(INT64, min_size=rows * len(keys), max_size=rows * len(keys))
    values = np.array(data.draw(cells), np.int64).reshape(rows, len(keys))
    times = np.array(data.draw(st.lists(INT64, min_size=rows, max_size=rows)), np.int64)

    class Recorded:
        times_ps = times
        columns = [Column(*key) for key in keys]  # noqa: RUF012

    Recorded.values = values  # type: ignore[attr-defined]
    path = tmp_path_factory.mktemp("samples") / "samples.parquet"
    write_samples(path, Recorded)  # type: ignore[arg-type]
    found_times, columns, found = read_samples(path)
    assert columns == Recorded.columns
    assert found.shape == values.shape
    assert (found == values).all()
    if keys:
        assert (found_times == times).all()


def test_tidy_and_deterministic(tmp_path, recording) -> None:
    for name in "ab":
        write_samples(tmp_path / name, recording)
        time.sleep(0.01)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    table = pq.read_table(tmp_path / "a")
    assert table.column_names == ["time_ps", "node", "entity", "quantity", "value", "unit"]
    assert pa.types.is_dictionary(table.schema.field("entity").type)
    n = len(recording.times_ps)
    row = table.slice(2 * n + 7, 1).to_pylist()[0]
    assert row == {
        "time_ps": 7 * 10**9,
        "node": "switch",
        "entity": "switch.sink",
        "quantity": "service_rate",
        "value": 950_000_000,
        "unit": "bit/s",
    }


def test_more_than_one_row_group(tmp_path, recording, monkeypatch) -> None:
    monkeypatch.setattr("traces.samples.BATCH_ROWS", 10_000)
    write_samples(tmp_path / "a", recording)
    assert pq.ParquetFile(tmp_path / "a").num_row_groups > 5
    _, columns, values = read_samples(tmp_path / "a")
    assert columns == recording.columns
    assert (values == recording.values).all()


def test_foreign_files_are_refused(tmp_path, recording) -> None:
    path = tmp_path / "samples.parquet"
    with pytest.raises(BadInput, match="no such file"):
        read_samples(path)
    path.write_bytes(b"PAR1 no PAR1")
    with pytest.raises(BadInput, match="cannot be read as parquet"):
        read_samples(path)
    pq.write_table(pa.table({"time_ps": [1], "value": [2]}), path)
    with pytest.raises(BadInput, match="not samples that tailback wrote"):
        read_samples(path)
    write_samples(path, recording)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(BadInput):
        read_samples(path)


def test_every_series_of_every_batch_has_its_own_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "BATCH_ROWS", 6)  # two series of three rows

    class Recorded:
        times_ps = np.array([0, 5, 9], np.int64)
        columns = [Column(f"n{n}", f"e{n}", f"q{n}", f"u{n}", "gauge") for n in range(5)]  # noqa: RUF012
        values = np.arange(15, dtype=np.int64).reshape(3, 5)

    write_samples(tmp_path / "samples.parquet", Recorded())  # type: ignore[arg-type]
    table = pq.read_table(tmp_path / "samples.parquet")
    for n in range(5):
        some = table.slice(3 * n, 3).to_pydict()
        assert some["time_ps"] == [0, 5, 9]
        assert some["value"] == [n, n + 5, n + 10]
        for name in ("node", "entity", "quantity", "unit"):
            assert some[name] == [f"{name[0]}{n}"] * 3
