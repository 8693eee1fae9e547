"""The file of a device profile: whole or refused by name, and where it is looked for."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import __version__
from orchestrator.errors import BadInput, TailbackError
from orchestrator.profile import Profile, read_profile
from orchestrator.profile.profile_store import (
    newest,
    parse_profile,
    profile_file,
    profile_mismatches,
    text_of,
    write,
)
from orchestrator.profile.provenance import EVIDENCE, evidence_of, keys
from orchestrator.profile.quantiles import SHARES, mean, quantiles
from tests.orchestrator.profile.made import made, stalls


def whole() -> Profile:
    return parse_profile("made", made(stalls=stalls(2.0, 10**6)))


def test_it_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    write(whole(), tmp_path / "deep" / "p.json")
    assert read_profile(tmp_path / "deep" / "p.json") == whole()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["p.json"]


def test_every_value_has_its_evidence_and_every_class_its_value() -> None:
    data = json.loads(text_of(whole()))
    found = {key for key in keys(data) if not key.startswith("evidence")}
    for key in found:
        evidence_of(key)
    sections = {key.split(".")[0] for key in found} | {"evidence"}
    assert {key.split(".")[0] for key in EVIDENCE} == sections


def test_every_number_has_its_unit() -> None:
    data = json.loads(text_of(whole()))
    without = {"cores", "count", "trials", "frames", "windows", "share", "load"}
    units = ("_ns", "_s", "_bps", "_ppm", "_octets", "_frames", "_per_s", "_share", "_count")

    def look(value: Any, key: str) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                look(inner, name)
        elif isinstance(value, list):
            for inner in value:
                look(inner, key)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            assert key in without or key.endswith(units), key

    look({k: v for k, v in data.items() if k != "tailback_profile"}, "")


DAMAGES = [
    (b"", "damaged"),
    (b"{", "damaged"),
    (b"\xff\xfe", "damaged"),
    (b"[1]", "tailback_profile is missing"),
    (b'{"tailback": "0.1"}', "tailback_profile is missing"),
    (b'{"tailback_profile": 2}', "this version reads 1"),
    (b"[" * 100_000, "damaged"),
]


@pytest.mark.parametrize(("octets", "said"), DAMAGES)
def test_a_damaged_file_is_named(tmp_path: Path, octets: bytes, said: str) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(octets)
    with pytest.raises(BadInput, match=said) as caught:
        read_profile(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read as a device profile"):
        read_profile(tmp_path / "none.json")


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with path.open("wb") as file:
        file.truncate(5_000_000)
    with pytest.raises(BadInput, match="more than"):
        read_profile(path)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"date": "yesterday"}, "date"),
        ({"date": "2026-11-23T12:00:00"}, "date"),
        ({"took_s": -1.0}, "took_s"),
        ({"took_s": float("nan")}, "took_s"),
        ({"forwarding": []}, "forwarding"),
        ({"surplus": 1}, "surplus"),
        ({"evidence": {}}, "evidence"),
        ({"machine": 3}, "machine"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, Any], where: str) -> None:
    with pytest.raises(BadInput, match=where):
        parse_profile("made", made(**change))


def test_quantiles_out_of_order_are_named() -> None:
    data = made()
    data["departures"][0]["link_quantiles_ns"].reverse()
    data["departures"][0]["link_quantiles_ns"][0] += 1
    with pytest.raises(BadInput, match=r"departures.*rising order"):
        parse_profile("made", data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data(), JSON)
def test_whatever_stands_in_it_ends_in_a_sentence(data: st.DataObject, value: Any) -> None:
    """One value anywhere is exchanged for another: a profile, or BadInput, and nothing else."""
    changed = copy.deepcopy(made(stalls=stalls(2.0, 10**6)))
    place: Any = changed
    while True:
        key = data.draw(
            st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
        )
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            place[key] = value
            break
        place = inner
    with contextlib.suppress(TailbackError):
        assert isinstance(parse_profile("made", changed), Profile)


def here(**changes: Any) -> dict[str, Any]:
    return {**made()["machine"], **changes}


def test_a_profile_of_this_machine_is_not_strange() -> None:
    assert profile_mismatches(whole(), here(), __version__) == []


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"name": "other"}, "machine.name"),
        ({"processor": "another"}, "machine.processor"),
        ({"cores": 64}, "machine.cores"),
        ({"kernel": "6.2.0"}, "machine.kernel"),
    ],
)
def test_that_of_another_machine_is_named(changes: dict[str, Any], where: str) -> None:
    (problem,) = profile_mismatches(whole(), here(**changes), __version__)
    assert problem.where == where
    assert "tailback calibrate" in str(problem)


def test_that_of_another_version_is_named() -> None:
    (problem,) = profile_mismatches(whole(), here(), "99.0")
    assert problem.where == "tailback"


def test_the_newest_of_a_machine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert newest("bench") is None
    for day in (21, 23, 22):
        one = parse_profile("made", made(date=f"2026-11-{day}T12:00:00+00:00"))
        write(one, profile_file("bench", one.date))
    other = parse_profile("made", made(date="2026-11-30T12:00:00+00:00"))
    write(other, profile_file("bench-2", other.date))
    found = newest("bench")
    assert found is not None
    assert found[1].date.day == 23
    assert newest("ben") is None


def test_a_name_of_a_machine_is_no_way_out_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("../../x", "", "a/b", "." * 500):
        assert profile_file(name, whole().date).parent == tmp_path / "tailback" / "profiles"


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=200))
def test_quantiles_keep_ends_and_about_the_mean(values: list[int]) -> None:
    table = quantiles(np.array(values, np.int64))
    assert len(table) == len(SHARES)
    assert table == sorted(table)
    assert (table[0], table[-1]) == (min(values), max(values))
    assert min(values) <= round(mean(table), 3) <= max(values)


def test_whole_numbers_end_where_sums_of_nine_fit_an_int64() -> None:
    """At 10^18, as far as both signs are of use; the next one is refused by its name."""
    limits = {"cores": (0, 10**18), "clock_step_ns": (0, 10**18)}
    sections = {"cores": "machine", "clock_step_ns": "timestamps"}
    for key, ends in limits.items():
        section = sections[key]
        for value in (*ends, ends[0] - 1, ends[1] + 1):
            changed = made(**{section: made()[section] | {key: value}})
            if value in ends:
                read = getattr(parse_profile("made", changed), section)
                assert getattr(read, key) == value
                continue
            with pytest.raises(BadInput, match=f"{section}.{key}"):
                parse_profile("made", changed)
